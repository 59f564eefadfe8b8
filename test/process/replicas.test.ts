import { PgClient } from "@effect/sql-pg"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { signedUp, withHeaders } from "../support/Actors.ts"
import { sampled } from "../support/Connections.ts"
import { emptyDatabase } from "../support/Databases.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { MailProvider } from "../support/MailProvider.ts"
import { hasRedis, RedisServer } from "../support/RedisServer.ts"
import { logged, type Replica, replica } from "../support/Replica.ts"
import { created, newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"
import { until } from "../support/Waiting.ts"

/** All five were started at the same instant on a database without a single table; three of them still run. */
class Replicas extends Context.Service<Replicas, {
  readonly all: ReadonlyArray<Replica>
  readonly a: Replica
  readonly b: Replica
  readonly c: Replica
}>()("test/Replicas") {
  static readonly layer = Layer.unwrap(Effect.gen(function*() {
    const url = yield* emptyDatabase
    const redis = hasRedis ? { REDIS_URL: Context.get(yield* Layer.build(RedisServer.layer), RedisServer).url } : {}
    const settings = {
      ...yield* MailProvider,
      ...redis,
      BASE_URL: "https://routes.example",
      DATABASE_URL: url,
      OUTBOX_POLL_INTERVAL: "100 millis",
      PASSWORD_MIN_STRENGTH: "0",
      ERASURE_SWEEP_INTERVAL: "100 millis"
    }
    const start = replica(settings)
    const all = yield* Effect.all([start, start, start, start, start], { concurrency: 5 })
    const [a, b, c, ...others] = all
    yield* Effect.forEach(all, ({ ready }) => ready, { concurrency: 5 })
    yield* Effect.forEach(others, ({ ended, tell }) => Effect.andThen(tell("SIGTERM"), ended), { concurrency: 2 })
    return Layer.mergeAll(
      Layer.succeed(Replicas, { all, a, b, c }),
      Layer.succeed(TestServer, a.server),
      PgClient.layer({ url: Redacted.make(url), maxConnections: 2 })
    )
  })).pipe(Layer.provideMerge(MailProvider.layer(1500)))
}

/** Sends the same credential to all, whichever it was got from. */
const onAll = Effect.fnUntraced(function*(credential: string) {
  const { a, b, c } = yield* Replicas
  const caller = withHeaders({ authorization: `Bearer ${credential}` })
  return {
    onA: yield* Effect.provideService(caller, TestServer, a.server),
    onB: yield* Effect.provideService(caller, TestServer, b.server),
    onC: yield* Effect.provideService(caller, TestServer, c.server)
  }
})

const syncIn = Schema.decodeUnknownSync(
  Schema.Struct({
    cursor: Schema.String,
    changes: Schema.Array(Schema.Struct({ type: Schema.String, id: Schema.Int }))
  })
)

const statusOf = Effect.map(({ status }: Answer) => status)

describe("several processes on one database", () => {
  layer(Replicas.layer, { excludeTestServices: true })((it) => {
    it.effect("start at the same instant on an empty database, without a problem", () =>
      Effect.gen(function*() {
        const { all } = yield* Replicas
        const problems = all.flatMap((one) => logged(one, "WARN", "ERROR", "FATAL"))
        // A slow machine migrates for so long that the others say what they wait for.
        const others = problems.filter(({ message }) => message !== "migration waits for a lock")
        assert.deepStrictEqual(others, [])
      }))

    it.effect("know each other's sessions, and their end", () =>
      Effect.gen(function*() {
        const rider = yield* signedUp
        const { onA, onB, onC } = yield* onAll(rider.token)
        const statuses = Effect.all([onA, onB, onC].map((caller) => statusOf(caller.get("/users/me"))))
        assert.deepStrictEqual(yield* statuses, [200, 200, 200])
        assert.strictEqual(yield* statusOf(onA.post("/auth/logout")), 200)
        assert.deepStrictEqual(yield* statuses, [401, 401, 401])
      }))

    it.effect("know each other's tokens, and their end", () =>
      Effect.gen(function*() {
        const rider = yield* signedUp
        const { id, token } = yield* mint(rider, "read")
        const { onA, onB, onC } = yield* onAll(token)
        assert.strictEqual(yield* statusOf(onB.get("/routes")), 200)
        const session = yield* onAll(rider.token)
        assert.isBelow(yield* statusOf(session.onB.delete(`/auth/tokens/${id}`)), 300)
        const statuses = yield* Effect.all([onA, onB, onC].map((caller) => statusOf(caller.get("/routes"))))
        assert.deepStrictEqual(statuses, [401, 401, 401])
      }))

    it.effect("return a change to requests that wait at each of them, whichever process made it", () =>
      Effect.gen(function*() {
        const { onA, onB, onC } = yield* onAll((yield* signedUp).token)
        const { cursor } = syncIn((yield* onA.get("/sync")).body)
        const waiting = yield* Effect.forkChild(
          Effect.all([onA, onB, onC].map((caller) => caller.get(`/sync?cursor=${cursor}&wait=30`)), {
            concurrency: 3
          })
        )
        const { a, b, c } = yield* Replicas
        for (const { server } of [a, b, c]) {
          const waits = Effect.provideService(sampled("change_waits"), TestServer, server)
          yield* until(Effect.map(waits, (count) => count === 1))
        }
        const { id } = created((yield* onB.post("/routes", newRoute({}))).body)
        const answers = yield* Fiber.join(waiting)
        for (const { body } of answers) assert.deepStrictEqual(syncIn(body).changes, [{ type: "route", id }])
      }))

    it.effect("create one route by concurrent requests with one Idempotency-Key", () =>
      Effect.gen(function*() {
        const { onA, onB } = yield* onAll((yield* signedUp).token)
        const headers = { "idempotency-key": "once-on-both" }
        const answers = yield* Effect.all(
          [onA, onB, onA, onB, onA, onB].map((caller) => caller.post("/routes", newRoute({}), { headers })),
          { concurrency: "unbounded" }
        )
        const made = answers.filter(({ status }) => status === 201)
        assert.isAbove(made.length, 0)
        assert.strictEqual(new Set(made.map(({ body }) => created(body).id)).size, 1)
        assert.deepStrictEqual(answers.filter(({ status }) => status !== 201 && status !== 409), [])
        const kept = yield* onB.get("/routes")
        assert.lengthOf(Schema.decodeUnknownSync(Schema.Array(Schema.Unknown))(kept.body), 1)
      }))

    it.effect("erase each account that is due once, all sweeping, and no other", () =>
      Effect.gen(function*() {
        const { a, b, c } = yield* Replicas
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at, deletion_requested_at)
          SELECT 'due-' || n, 'due-' || n, now(), 'Due', 'due-' || n, now(), now(), now() - n * interval '1 day'
          FROM generate_series(1, 100) n`
        const left = sql<{ days: number }>`
          SELECT substr(handle, 5)::int AS days FROM users WHERE handle LIKE 'due-%' ORDER BY days`
        yield* until(Effect.map(left, (rows) => rows.length < 30))
        assert.deepStrictEqual((yield* left).map(({ days }) => days), Array.from({ length: 29 }, (_, n) => n + 1))
        const counted = Effect.forEach([a, b, c], ({ server }) =>
          Effect.provideService(sampled("sweep_rows_total", `{sweep="accounts"}`), TestServer, server))
        const erased = Effect.map(counted, (counts) =>
          counts.reduce((sum, count) => sum + count, 0))
        yield* until(Effect.map(erased, (count) => count >= 71))
        assert.strictEqual(yield* erased, 71)
        assert.deepStrictEqual([a, b, c].flatMap((one) => logged(one, "ERROR")), [])
      }))

    it.effect("send each mail once, although the provider takes longer than they look for mails", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* until(Effect.map(sql`SELECT id FROM outbox`, (rows) => rows.length === 0))
        // There were four sign-ups, and one new token.
        const sent = (yield* (yield* Mailbox).mails).map(({ subject, to }) => `${subject} ${to}`)
        assert.lengthOf(sent, 5)
        assert.strictEqual(new Set(sent).size, 5)
      }))

    it.effect.skipIf(!hasRedis)(
      "count one limit together (skipped where there is no redis-server)",
      () =>
        Effect.gen(function*() {
          const { onA, onB, onC } = yield* onAll((yield* signedUp).token)
          const calls = Array.from({ length: 27 }, () => [onA, onB, onC]).flat().map((caller) =>
            statusOf(caller.get("/routes"))
          )
          const statuses = yield* Effect.all(calls, { concurrency: 20 })
          assert.strictEqual(statuses.filter((status) => status === 200).length, 60)
          assert.strictEqual(statuses.filter((status) => status === 429).length, 21)
        })
    )
  })
})
