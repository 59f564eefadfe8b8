import { PgClient, PgConnection } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Redacted, Schedule, Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { anonymous, signedIn } from "../support/Actors.ts"
import { DatabaseProxy } from "../support/DatabaseProxy.ts"
import { clonedDatabase, onServer } from "../support/Databases.ts"
import { newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { untilFound, within } from "../support/Waiting.ts"

const POOL = 4

/**
 * It is far less than the 10 to 15 seconds after which a lost statement ends by itself, and leaves room for a busy
 * machine.
 */
const SOON = 3000

const times = (count: number, call: Effect.Effect<Answer>) =>
  Effect.forEach(Array.from({ length: count }), () => call, { concurrency: "unbounded" })

/** Calls until a call succeeds again. */
const recovered = (call: Effect.Effect<Answer>) => within(SOON)(untilFound(call, ({ status }) => status === 200))

/** Calls until a response is as expected. A call that is stuck is left alone. */
const until = (
  call: Effect.Effect<Answer>,
  isMet: (answer: Answer) => boolean,
  before: Effect.Effect<void> = Effect.void
) =>
  Effect.andThen(before, Effect.timeoutOption(call, "200 millis")).pipe(
    Effect.map(Option.filter(isMet)),
    (calls) => untilFound(calls, Option.isSome),
    Effect.flatMap(Effect.fromOption),
    Effect.orDie
  )

const message = ({ body }: Answer) =>
  typeof body === "object" && body !== null && "message" in body ? body.message : undefined

const statuses = (answers: ReadonlyArray<Answer>) => new Set(answers.map(({ status }) => status))

layer(TestServer.behindProxyWith({ DATABASE_POOL_SIZE: String(POOL) }), {
  excludeTestServices: true
})(
  "a database that fails while it is used",
  (it) => {
    it.effect(
      "is refused at once when its network loses packets, and is used again soon after it stops to",
      () =>
        Effect.gen(function*() {
          const database = yield* DatabaseProxy
          const rider = yield* signedIn
          yield* times(POOL, rider.get("/routes"))
          yield* database.hang
          const hung = yield* Effect.forkChild(times(40, rider.get("/routes")))
          const refused = yield* until(
            rider.get("/routes"),
            (answer) => message(answer) === "The database is not reachable"
          )
          assert.strictEqual(refused.status, 503)
          assert.strictEqual(refused.headers.get("retry-after"), "1")
          yield* database.forward
          yield* recovered(rider.get("/routes"))
          // The requests that had a connection ended with it, and the others were refused.
          assert.deepStrictEqual([...statuses(yield* Fiber.join(hung))], [503])
          assert.deepStrictEqual([...statuses(yield* times(40, rider.get("/routes")))], [200])
        })
    )

    it.effect("loses nothing when its server is stopped for a moment", () =>
      Effect.gen(function*() {
        const database = yield* DatabaseProxy
        const rider = yield* signedIn
        yield* times(POOL, rider.get("/routes"))
        yield* database.set("stall")
        const stalled = yield* Effect.forkChild(times(POOL, rider.post("/routes", newRoute({}))))
        yield* until(rider.get("/routes"), (answer) => message(answer) === "The database is not reachable")
        yield* database.forward
        yield* recovered(rider.get("/routes"))
        assert.notInclude([...statuses(yield* Fiber.join(stalled))], 500)
      }))

    for (const mode of ["reset", "refuse"] as const) {
      it.effect(`is used again soon after it stops to ${mode} connections`, () =>
        Effect.gen(function*() {
          const database = yield* DatabaseProxy
          const rider = yield* signedIn
          const inFlight = yield* Effect.forkChild(times(40, rider.get("/routes")))
          yield* database.set(mode)
          const failed = yield* times(40, rider.get("/routes"))
          assert.deepStrictEqual([...statuses(failed)], [503])
          assert.isTrue(failed.every(({ headers }) => headers.get("retry-after") === "1"))
          yield* database.forward
          yield* recovered(rider.get("/routes"))
          assert.notInclude([...statuses(yield* Fiber.join(inFlight))], 500)
        }))
    }

    it.effect(
      "is used when it responds after 200 milliseconds, and refuses or responds when after 2 seconds",
      () =>
        Effect.gen(function*() {
          const database = yield* DatabaseProxy
          const rider = yield* signedIn
          yield* times(POOL, rider.get("/routes"))
          yield* database.set(100)
          assert.deepStrictEqual([...statuses(yield* times(POOL, rider.get("/routes")))], [200])
          yield* database.set(1000)
          const slow = yield* times(2 * POOL, rider.get("/routes"))
          assert.isTrue(slow.every(({ status }) => status === 200 || status === 503))
          yield* database.forward
          yield* recovered(rider.get("/routes"))
        })
    )

    it.effect("may end its back ends under load", () =>
      Effect.gen(function*() {
        const database = yield* DatabaseProxy
        const rider = yield* signedIn
        const name = new URL(database.url).pathname.slice(1)
        for (let round = 0; round < 5; round++) {
          const answers = yield* Effect.forkChild(times(40, rider.get("/routes")))
          yield* onServer((sql) => sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`)
          assert.notInclude([...statuses(yield* Fiber.join(answers))], 500)
        }
        yield* recovered(rider.get("/routes"))
      }))

    it.effect(
      "refuses no writes of others for a row of one account that is locked for long",
      () =>
        Effect.gen(function*() {
          const database = yield* DatabaseProxy
          const name = new URL(database.url).pathname.slice(1)
          const [locker, other] = [yield* signedIn, yield* signedIn]
          const isSeen = yield* Deferred.make<void>()
          const lock = Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            yield* sql.withTransaction(Effect.andThen(
              sql`SELECT 1 FROM users WHERE id = ${locker.id} FOR NO KEY UPDATE`,
              Deferred.await(isSeen)
            ))
          }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(database.url), maxConnections: 1 })))
          const locked = yield* Effect.forkChild(lock)
          const stuck = yield* Effect.forkChild(
            Effect.forever(times(2 * POOL, locker.patch("/users/me", { name: "Locker" })))
          )
          const waiting = onServer((sql) =>
            sql`SELECT FROM pg_stat_activity WHERE datname = ${name} AND wait_event_type = 'Lock'`
          )
          yield* untilFound(waiting, (rows) => rows.length === POOL / 2)
          const answers = yield* Effect.replicateEffect(other.post("/routes", newRoute({})), 5)
          assert.isUndefined(locked.pollUnsafe())
          assert.deepStrictEqual([...statuses(answers)], [201])
          yield* Fiber.interrupt(stuck)
          yield* Deferred.succeed(isSeen, undefined)
          yield* Fiber.join(locked)
        })
    )
  }
)

// The first looks of the sweeps would fill so short a queue.
const busyServer = TestServer.layer({
  DATABASE_POOL_SIZE: "1",
  DATABASE_QUEUE_LENGTH: "2",
  DATABASE_QUEUE_TIMEOUT: "1 second"
})

layer(busyServer, { excludeTestServices: true })(
  "a database whose connections are all in use",
  (it) => {
    it.effect(
      "makes requests wait, and 503 of those that wait too long or find too many waiting, while it stays ready",
      () =>
        Effect.gen(function*() {
          const rider = yield* signedIn
          const sql = yield* SqlClient.SqlClient
          const taken = yield* Effect.forkChild(sql.withTransaction(Effect.andThen(sql`SELECT 1`, Effect.never)))
          yield* until(rider.get("/me/sessions"), ({ status }) => status === 503)
          const answers = yield* times(10, rider.get("/me/sessions"))
          assert.deepStrictEqual([...statuses(answers)], [503])
          for (const answer of answers) {
            assert.strictEqual(answer.headers.get("retry-after"), "1")
            assert.deepInclude(answer.body, { statusCode: 503, code: "INTERNAL" })
            // A process whose event loop is busy too refuses before the queue.
            assert.oneOf(message(answer), [
              "The service is busy: try again",
              "The service has too many requests: try again"
            ])
          }
          yield* Fiber.interrupt(taken)
          yield* recovered(rider.get("/me/sessions"))
        })
    )

    it.effect("keeps the process ready", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        const sql = yield* SqlClient.SqlClient
        const hasBegun = yield* Deferred.make<void>()
        const taken = yield* Effect.forkChild(
          sql.withTransaction(
            Effect.andThen(sql`SELECT 1`, Effect.andThen(Deferred.succeed(hasBegun, undefined), Effect.never))
          )
        )
        yield* Deferred.await(hasBegun)
        const answers = yield* Effect.forEach(Array.from({ length: 3 }), () => visitor.get("//health/ready"))
        assert.deepStrictEqual([...statuses(answers)], [200])
        yield* Fiber.interrupt(taken)
      }))

    it.effect("lets a transaction use its own connection, however deep it is nested", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const inner = sql.withTransaction(
          Effect.all([
            sql`SELECT 1 AS one`,
            Stream.runCollect(sql`SELECT 1 AS one`.stream),
            sql`SELECT 1 AS one`.values
          ])
        )
        const [rows, streamed, values] = yield* sql.withTransaction(Effect.andThen(sql`SELECT 1`, inner))
        assert.deepStrictEqual([rows, [...streamed], values], [[{ one: 1 }], [{ one: 1 }], [[1]]])
      }))

    it.effect("fails a transaction that is committed after one of its statements failed", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const failed = sql.withTransaction(Effect.ignore(sql`SELECT 1 / 0`))
        assert.strictEqual((yield* Effect.flip(failed)).reason.message, "COMMIT rolled back an aborted transaction")
      }))
  }
)

/** The role may have few connections, and does what the owner of the database does. */
const limitedRole = Effect.gen(function*() {
  const url = new URL(yield* clonedDatabase)
  const owner = url.username
  const name = `limited_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(
    onServer((sql) => sql`CREATE ROLE ${sql(name)} LOGIN PASSWORD 'limited' CONNECTION LIMIT 6 IN ROLE ${sql(owner)}`),
    () => onServer((sql) => sql`DROP ROLE ${sql(name)}`)
  )
  url.username = name
  url.password = "limited"
  return url.href
})

const limitedServer = Layer.unwrap(
  Effect.map(
    limitedRole,
    (url) =>
      Layer.unwrap(Effect.map(DatabaseProxy, (proxy) => TestServer.on(proxy.url, { DATABASE_POOL_SIZE: String(POOL) })))
        .pipe(
          Layer.provideMerge(DatabaseProxy.layer(url))
        )
  )
)

layer(limitedServer, { excludeTestServices: true })("a database that lets none in", (it) => {
  it.effect("makes requests 503 until others free connections again", () =>
    Effect.gen(function*() {
      const database = yield* DatabaseProxy
      const rider = yield* signedIn
      const others = yield* Scope.make()
      const connect = Effect.retry(PgConnection.make({ url: Redacted.make(database.url) }), {
        schedule: Schedule.spaced("20 millis"),
        times: 20
      })
      // The service may have been quicker to connect again: then it is cut off once more.
      const exhaust = Effect.andThen(
        database.cut,
        Effect.ignore(Scope.provide(Effect.replicateEffect(connect, 6, { concurrency: 6 }), others))
      )
      const answer = yield* until(rider.get("/me/sessions"), ({ status }) => status === 503, exhaust)
      assert.strictEqual(message(answer), "The database is not available")
      assert.strictEqual(answer.headers.get("retry-after"), "1")
      yield* Scope.close(others, Exit.void)
      yield* recovered(rider.get("/me/sessions"))
    }))

  it.effect("makes requests 503 until the role of the service may sign in again", () =>
    Effect.gen(function*() {
      const database = yield* DatabaseProxy
      const role = new URL(database.url).username
      const rider = yield* signedIn
      for (const [change, undo] of [["PASSWORD 'new'", "PASSWORD 'limited'"], ["NOLOGIN", "LOGIN"]] as const) {
        yield* onServer((sql) => sql`ALTER ROLE ${sql(role)} ${sql.literal(change)}`)
        yield* database.cut
        const answer = yield* until(
          rider.get("/me/sessions"),
          (answer) => message(answer) !== "The database is not reachable"
        )
        assert.strictEqual(answer.status, 503)
        assert.strictEqual(message(answer), "The database is not available")
        assert.strictEqual(answer.headers.get("retry-after"), "1")
        yield* onServer((sql) => sql`ALTER ROLE ${sql(role)} ${sql.literal(undo)}`)
        yield* recovered(rider.get("/me/sessions"))
      }
    }))
})
