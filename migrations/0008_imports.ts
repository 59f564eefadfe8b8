import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // By which an import knows what it brought before: the share token of the route or collection that was first exported.
  yield* sql`ALTER TABLE routes ADD COLUMN imported_from text CHECK (imported_from ~ '^[0-9a-f]{32}$')`
  yield* sql`
    CREATE UNIQUE INDEX routes_import_key ON routes (user_id, imported_from) WHERE imported_from IS NOT NULL`
  yield* sql`ALTER TABLE collections ADD COLUMN imported_from text CHECK (imported_from ~ '^[0-9a-f]{32}$')`
  yield* sql`
    CREATE UNIQUE INDEX collections_import_key ON collections (user_id, imported_from)
    WHERE imported_from IS NOT NULL`
})
