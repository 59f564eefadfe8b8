import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { changeSweepLayer } from "../../src/services/sync/ChangeNumbers.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"
import { untilFound } from "../support/Waiting.ts"

const ACCOUNTS = 250

/** They are more than a batch. */
const FAILING = 120

const onOwnDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.provide(databaseLive, configLayer(url, {})))
)

layer(onOwnDatabase)("the sweep of changes", (it) => {
  it.effect("numbers the changes of the accounts behind those that fail, and of these once they do not", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        WITH made AS (
          INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
          SELECT address, address, 'epoch', 'x', 'rider-' || n, 'epoch', 'epoch'
          FROM generate_series(1, ${ACCOUNTS}) n, LATERAL (SELECT n || '@example.com' AS address) a
          ORDER BY n RETURNING id
        )
        INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, created_at,
          updated_at)
        SELECT id, 'x', 'private', '{}', false, '[]', 'generation', md5(id::text), 'epoch', 'epoch' FROM made`
      yield* sql`
        CREATE FUNCTION resist() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$`
      yield* sql`
        CREATE TRIGGER resist BEFORE INSERT ON changes FOR EACH ROW
        WHEN (new.user_id <= ${sql.literal(String(FAILING))}) EXECUTE FUNCTION resist()`
      const swept = Layer.build(changeSweepLayer).pipe(Effect.provide(Logger.layer([])))
      const numbered = sql`SELECT user_id FROM changes`
      yield* Effect.scoped(
        Effect.andThen(swept, untilFound(numbered, ({ length }) => length === ACCOUNTS - FAILING))
      )
      yield* sql`DROP TRIGGER resist ON changes`
      yield* Effect.scoped(Effect.andThen(swept, untilFound(numbered, ({ length }) => length === ACCOUNTS)))
      assert.isEmpty(yield* sql`SELECT FROM pending_changes`)
    }))
})
