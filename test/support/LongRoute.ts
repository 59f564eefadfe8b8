import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Rider } from "./Actors.ts"
import { idOf, newRoute } from "./Routes.ts"

/** Makes the database store lines as they are: trying to pack lines of random digits takes most of their cost. */
export const unpackedLines = SqlClient.SqlClient.use((sql) =>
  sql`ALTER TABLE routes ALTER COLUMN geometry SET STORAGE EXTERNAL`
)

/** Makes a public route of digits that repeat nowhere: a position has some 60 bytes in the database, 110 in a file. */
export const longRoute = Effect.fnUntraced(function*(rider: Rider, positions = 100_000) {
  const id = idOf((yield* rider.post("/routes", newRoute({ visibility: "public" }))).body)
  yield* unpackedLines
  yield* SqlClient.SqlClient.use((sql) =>
    sql`
      UPDATE routes SET geometry = (
        SELECT '[' || string_agg('[' || random() + n % 90 || ',' || random() || ',' || random() || ']', ',') || ']'
        FROM generate_series(1, ${positions}::int) n
      ) WHERE id = ${id}`
  )
  return id
})
