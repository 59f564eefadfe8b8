import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"

const Row = Schema.Struct({ id: Schema.String, email: Schema.String, key: Schema.String })

const FOLDED = /(?![A-Z])\p{Changes_When_NFKC_Casefolded}/u

const inNormalForm = (text: string) => text.normalize("NFKC") === text

const lowered = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** The local part in lower case where that is all that Unicode folds, and else as it is. */
const keyOf = ({ email, key }: typeof Row.Type) => {
  const local = email.slice(0, email.lastIndexOf("@"))
  const isPlain = !FOLDED.test(local) && inNormalForm(local) && inNormalForm(lowered(local))
  return `${isPlain ? lowered(local) : local}${key.slice(key.lastIndexOf("@"))}`
}

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`SET LOCAL statement_timeout = 0`

  // The key had what NFC and lower case make of the address: an account of U+212A KELVIN SIGN and "im@" was found as that of
  // "kim@", which is another mailbox. No two of the new keys are equal where the old ones were not. One may be an old key that is still
  // there, so all that change are first set to what no address is.
  for (const table of ["users", "sign_ups"]) {
    const rows = yield* SqlSchema.findAll({
      Request: Schema.Void,
      Result: Row,
      execute: () =>
        sql`SELECT id::text AS id, email, email_key AS key FROM ${
          sql(table)
        } WHERE octet_length(email) <> char_length(email)`
    })()
    const changed = rows.filter((row) => keyOf(row) !== row.key)
    yield* Effect.forEach(changed, ({ id }) => sql`UPDATE ${sql(table)} SET email_key = '@' || id WHERE id = ${id}`, {
      discard: true
    })
    yield* Effect.forEach(
      changed,
      (row) => sql`UPDATE ${sql(table)} SET email_key = ${keyOf(row)} WHERE id = ${row.id}`,
      { discard: true }
    )
  }
})
