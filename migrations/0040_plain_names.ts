import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { withoutFormat } from "../src/schema/Text.ts"

/**
 * PostgreSQL has no class of the Unicode category Cf: these blocks hold all of it. 0032 removed the characters that never
 * stand in a name; joiners and tags depend on what is beside them, which `withoutFormat` decides.
 */
const FORMAT =
  "[\\u00AD\\u0600-\\u0605\\u061C\\u06DD\\u070F\\u0890\\u0891\\u08E2\\u180E\\u200B-\\u200F\\u202A-\\u202E" +
  "\\u2060-\\u206F\\uFEFF\\uFFF9-\\uFFFB\\U000110BD\\U000110CD\\U00013430-\\U0001343F\\U0001BCA0-\\U0001BCA3" +
  "\\U0001D173-\\U0001D17A\\U000E0001-\\U000E007F]"

const TABLES = [["users", "handle"], ["sign_ups", "'rider'"]] as const

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // The search reads every row.
  yield* sql`SET LOCAL statement_timeout = 0`

  for (const [table, nameless] of TABLES) {
    const rows = yield* sql<{ id: string; name: string }>`
      SELECT id::text, name FROM ${sql(table)} WHERE name ~ ${FORMAT} FOR NO KEY UPDATE`
    for (const { id, name } of rows) {
      const plain = withoutFormat(name).trim()
      if (plain === name) continue
      yield* sql`
        UPDATE ${sql(table)} SET name = coalesce(nullif(${plain}, ''), ${sql.literal(nameless)}) WHERE id::text = ${id}`
    }
  }
})
