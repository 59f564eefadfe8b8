import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { databaseLive } from "../../src/layers/Database.ts"
import { signedIn } from "../support/Actors.ts"
import { clonedDatabase, onServer } from "../support/Databases.ts"
import { hasPooler, pooled, pooler } from "../support/Pooler.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until, within } from "../support/Waiting.ts"

const refusal = (settings: Readonly<Record<string, string>>) =>
  SqlClient.SqlClient.use((sql) => sql`SELECT 1`).pipe(
    Effect.provide(
      Layer.provide(Layer.fresh(databaseLive), ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))
    ),
    Effect.flip,
    Effect.map(({ message }) => message)
  )

describe.skipIf(!hasPooler)(
  "a pooler of transactions (skipped where Debian's package pgbouncer is not installed)",
  () => {
    it.live("that cannot be used as it is set is refused at the start, with what to set", () =>
      Effect.gen(function*() {
        const url = yield* clonedDatabase
        const { DATABASE_URL } = pooled(url, yield* pooler(inject("postgresUrl")))
        assert.strictEqual(
          yield* refusal({ DATABASE_URL }),
          "DATABASE_URL: the pooler does not keep prepared statements: set DATABASE_PREPARED_STATEMENTS=false, "
            + "or max_prepared_statements of PgBouncer 1.21 or newer"
        )
        const unlimited = pooled(url, yield* pooler(inject("postgresUrl"), false))
        assert.strictEqual(
          yield* refusal(unlimited),
          "DATABASE_URL: the pooler does not pass the limits of a session: set them for the role, "
            + "ALTER ROLE postgres SET idle_in_transaction_session_timeout = 10000; "
            + "ALTER ROLE postgres SET lock_timeout = 2000; ALTER ROLE postgres SET statement_timeout = 5000; "
            + "then let the pooler connect again (RECONNECT of PgBouncer)"
        )
      }).pipe(Effect.scoped))

    it.live("leaves slow statements alone, and waiting requests see changes past it", () =>
      Effect.gen(function*() {
        const url = yield* clonedDatabase
        const settings = { ...pooled(url, yield* pooler(inject("postgresUrl"))), DATABASE_POOL_SIZE: "4" }
        yield* Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const rider = yield* signedIn
          const route = created((yield* rider.post("/routes", newRoute({}))).body)
          const slow = yield* Effect.forkChild(
            sql.withTransaction(Effect.andThen(
              sql`SELECT FROM routes WHERE id = ${route.id} FOR UPDATE`,
              sql`SELECT FROM pg_sleep(1.7)`
            ))
          )
          yield* until(Effect.map(
            onServer((sql) => sql`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`),
            (rows) => rows.length > 0
          ))
          assert.strictEqual((yield* rider.patch(`/routes/${route.id}`, { name: "Late" })).status, 200)
          yield* Fiber.join(slow)

          const { body } = yield* rider.get("/sync")
          assert.isTrue(typeof body === "object" && body !== null && "cursor" in body)
          const cursor = typeof body === "object" && body !== null && "cursor" in body ? String(body.cursor) : ""
          const waiting = yield* Effect.forkChild(rider.get(`/sync?cursor=${cursor}&wait=20`))
          yield* until(Effect.map(
            onServer((sql) => sql`SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`),
            (rows) => rows.length > 0
          ))
          // Without the notification it would be 5 seconds.
          yield* rider.patch(`/routes/${route.id}`, { name: "Seen" })
          assert.include((yield* within(2000)(Fiber.join(waiting))).text, "Seen")
        }).pipe(Effect.provide(TestServer.on(settings.DATABASE_URL, settings)))
      }).pipe(Effect.scoped))
  }
)
