import { assert, layer } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { ownPostgres } from "../support/OwnPostgres.ts"
import { newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until, untilFound, within } from "../support/Waiting.ts"

const POOL = 4

class Frozen extends Context.Service<Frozen, Effect.Success<typeof ownPostgres>>()("test/Frozen") {
  static readonly layer = Layer.effect(Frozen, ownPostgres)
}

const frozenServer = Layer.unwrap(
  Effect.map(Frozen, ({ url }) => TestServer.on(url, { DATABASE_POOL_SIZE: String(POOL) }))
).pipe(Layer.provideMerge(Frozen.layer))

const refused = ({ body, headers, status }: Answer) => {
  assert.strictEqual(status, 503)
  assert.strictEqual(headers.get("retry-after"), "1")
  // The message is that of whichever limit comes first: both are two seconds.
  assert.deepInclude(body, { statusCode: 503, code: "INTERNAL" })
}

layer(frozenServer, { excludeTestServices: true })("a database that is frozen", (it) => {
  /** Calls while it is frozen, each for at most three seconds. */
  const whileFrozen = (calls: ReadonlyArray<Effect.Effect<Answer>>) =>
    Effect.gen(function*() {
      const { freeze, thaw } = yield* Frozen
      yield* freeze
      return yield* Effect.all(calls.map(within(3000)), { concurrency: "unbounded" }).pipe(Effect.ensuring(thaw))
    })

  const isUsedAgain = (rider: Rider) => untilFound(rider.get("/routes"), ({ status }) => status === 200)

  it.effect(
    "makes requests 503 with Retry-After within 3 seconds, also the first ones of an idle service",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const visitor = yield* anonymous
        const warm = Array.from({ length: POOL }, () => rider.get("/routes"))
        yield* Effect.all(warm, { concurrency: "unbounded" })
        const calls = [
          rider.get("/routes/1"),
          visitor.get("/routes/public"),
          visitor.get("/users/nobody"),
          rider.post("/routes", newRoute({})),
          rider.patch("/users/me", { name: "Frozen" }),
          rider.get("/sync"),
          rider.get("/sync?wait=20"),
          rider.get("/routes/1/gpx"),
          rider.get("/users/me/export")
        ]
        for (const answer of yield* whileFrozen(calls)) refused(answer)
        yield* isUsedAgain(rider)
      })
  )

  it.effect(
    "makes requests 503 with Retry-After within 3 seconds whose transactions have begun",
    () =>
      Effect.gen(function*() {
        const { freeze, thaw } = yield* Frozen
        const sql = yield* SqlClient.SqlClient
        const rider = yield* signedIn
        // A statement is slow in the middle of the transaction of a change.
        yield* sql`
        CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$`
        yield* sql`CREATE TRIGGER dawdle AFTER INSERT ON routes FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`
        const keyed = { headers: { "idempotency-key": "a-key-of-this-test" } }
        const store = rider.post("/routes", newRoute({}), keyed)
        const stored = yield* Effect.forkChild(store)
        yield* until(Effect.map(
          sql`SELECT FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'PgSleep'`,
          (rows) => rows.length === 1
        ))
        yield* freeze
        const answer = yield* within(3000)(Fiber.join(stored)).pipe(Effect.ensuring(thaw))
        refused(answer)
        yield* isUsedAgain(rider)
        const again = yield* untilFound(store, ({ status }) => status === 201)
        assert.strictEqual(again.status, 201)
        assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "1")
        yield* sql`DROP FUNCTION dawdle() CASCADE`
      })
  )

  it.effect("and one that responds leaves alone a statement that takes four seconds", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [duration] = yield* Effect.timed(sql`SELECT pg_sleep(4)`)
      assert.isTrue(Duration.isGreaterThanOrEqualTo(duration, Duration.seconds(4)))
    }))
})
