import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Invisible characters that reorder or hide text. Joiners and tags stay: scripts and emoji have them. */
const FORMAT =
  "[\\u00AD\\u061C\\u180E\\u200B\\u200E\\u200F\\u202A-\\u202E\\u2060-\\u2064\\u2066-\\u206F\\uFEFF\\uFFF9-\\uFFFB]"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // Both statements read every row.
  yield* sql`SET LOCAL statement_timeout = 0`

  const plain = sql`btrim(regexp_replace(name, ${FORMAT}, '', 'g'))`
  yield* sql`UPDATE users SET name = coalesce(nullif(${plain}, ''), handle) WHERE name ~ ${FORMAT}`
  yield* sql`UPDATE sign_ups SET name = coalesce(nullif(${plain}, ''), 'rider') WHERE name ~ ${FORMAT}`
})
