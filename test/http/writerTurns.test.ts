import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { UserId } from "../../src/schema/Ids.ts"
import { RunningRequests } from "../../src/services/admission/Lane.ts"
import { Lanes } from "../../src/services/admission/Lanes.ts"
import { Overloaded } from "../../src/services/DomainErrors.ts"
import { anonymous, signedIn, signedInAs } from "../support/Actors.ts"
import { archiveOf, imported } from "../support/Archives.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { gpx, trk } from "../support/Files.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const figure = (name: string) =>
  Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")).pipe(
    Effect.map(({ text }) => Number(new RegExp(`^${name}\\{class="writes"\\} (\\d+)$`, "m").exec(text)?.[1]))
  )

const ADMIN = "admin@example.com"

layer(TestServer.layer({ DATABASE_POOL_SIZE: "5", ADMIN_EMAILS: ADMIN }))(
  "writes of one account",
  (it) => {
    it.effect("hold two connections while they wait for its usage, whatever they are, and those of others go on", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const rider = yield* signedIn
        const other = yield* signedIn
        const admin = yield* signedInAs({ email: ADMIN })
        const changed = yield* makeRoute(rider)
        const [removed, restored, adminRemoved, purged] = yield* Effect.replicateEffect(makeRoute(rider), 4)
        const { id: collection } = yield* make(rider, {})
        yield* Effect.forEach([restored, purged], (id) => rider.delete(`/routes/${id}`))
        yield* rider.delete(`/collections/${collection}`)
        const writes = [
          rider.post("/routes", newRoute({})),
          rider.post("/routes", newRoute({}), { headers: { "idempotency-key": "a-key-of-this-test" } }),
          rider.patch(`/routes/${changed}`, { geometry: [[9, 47], [9.1, 47.1], [9.2, 47.2]] }),
          rider.post("/routes/batch", { operations: [{ op: "create", route: newRoute({}) }] }),
          rider.post("/collections", { name: "Alps" }),
          rider.delete(`/routes/${removed}`),
          rider.post(`/routes/${restored}/restore`),
          rider.delete(`/routes/deleted/${purged}`),
          rider.post(`/collections/${collection}/restore`),
          admin.delete(`/admin/routes/${adminRemoved}`),
          rider.post("/routes/import", undefined, {
            raw: gpx(trk("<trkpt lat=\"47\" lon=\"9\"/><trkpt lat=\"48\" lon=\"9\"/>")),
            headers: { "content-type": "application/gpx+xml" }
          })
        ]
        const running = yield* sql.withTransaction(Effect.gen(function*() {
          yield* sql`SELECT FROM route_usage JOIN collection_usage USING (user_id) WHERE user_id = ${rider.id} FOR UPDATE`
          const calls = yield* Effect.forkChild(Effect.all(writes, { concurrency: "unbounded" }))
          yield* until(Effect.map(figure("bulkhead_waiting"), (waiting) => waiting === writes.length - 2))
          assert.strictEqual(yield* figure("bulkhead_running"), 2)
          assert.strictEqual((yield* other.post("/routes", newRoute({}))).status, 201)
          return calls
        }))
        const responses = yield* Fiber.join(running)
        assert.deepStrictEqual(responses.map(({ status }) => status), [
          201,
          201,
          200,
          200,
          201,
          200,
          200,
          200,
          200,
          200,
          201
        ])
        assert.strictEqual(yield* figure("bulkhead_running"), 0)
      }))

    it.effect("do so too while they wait for a route or the account itself", () =>
      Effect.gen(function*() {
        const [rider, other] = [yield* signedIn, yield* signedIn]
        const route = `/routes/${yield* makeRoute(rider)}`
        const links = yield* Effect.replicateEffect(rider.post(`${route}/links`, {}), 2)
        const [changed, removed] = idsIn(links.map(({ body }) => body))
        const writes = [
          rider.patch(`${route}/links/${changed}`, { label: "Club" }),
          rider.delete(`${route}/links/${removed}`),
          rider.post(`${route}/share-token`),
          rider.call("PUT", "/users/me/privacy-zones", { body: { zones: [{ center: [9.5, 47.1], radius: 500 }] } })
        ]
        const running = yield* whileLocked(
          (sql) => sql`SELECT FROM routes r JOIN users u ON u.id = r.user_id WHERE u.id = ${rider.id} FOR UPDATE`,
          Effect.gen(function*() {
            const calls = yield* Effect.forkChild(Effect.all(writes, { concurrency: "unbounded" }))
            yield* until(Effect.map(figure("bulkhead_waiting"), (waiting) => waiting === writes.length - 2))
            yield* untilLocked(2)
            assert.strictEqual((yield* other.post("/routes", newRoute({}))).status, 201)
            return calls
          })
        )
        assert.deepStrictEqual((yield* Fiber.join(running)).map(({ status }) => status), writes.map(() => 200))
      }))

    it.effect("such as an import and 12 deletes at once are all done, and those of others are done meanwhile", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const other = yield* signedIn
        const ids = yield* Effect.replicateEffect(makeRoute(rider), 12)
        const otherId = yield* makeRoute(other)
        const archive = yield* archiveOf(other)
        const writes = [imported(rider, archive), ...ids.map((id) => rider.delete(`/routes/${id}`))]
        const running = yield* whileLocked(
          (sql) => sql`SELECT FROM route_usage WHERE user_id = ${rider.id} FOR UPDATE`,
          Effect.gen(function*() {
            const calls = yield* Effect.forkChild(Effect.all(writes, { concurrency: "unbounded" }))
            yield* until(Effect.map(figure("bulkhead_waiting"), (waiting) => waiting === writes.length - 2))
            yield* untilLocked(2)
            assert.strictEqual((yield* other.get("/routes")).status, 200)
            assert.strictEqual((yield* other.delete(`/routes/${otherId}`)).status, 200)
            return calls
          })
        )
        const responses = yield* Fiber.join(running)
        assert.deepStrictEqual(responses.map(({ status }) => status), [201, ...ids.map(() => 200)])
      }))
  }
)

layer(Lanes.layer.pipe(
  Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_POOL_SIZE: "5" })))
))("turns of writers", (it) => {
  const queuedBehindTwo = Effect.fnUntraced(function*(owner: UserId, count: number, areMany: boolean) {
    const { writes } = yield* Lanes
    const writer = Effect.exit(writes(owner, Effect.never))
    const forked = yield* Effect.forEach(
      Array.from({ length: count + 2 }),
      () =>
        Effect.forkChild(
          Effect.provideService(writer, RunningRequests, { add: () => undefined, areMany: () => areMany })
        )
    )
    yield* TestClock.adjust("1 second")
    return forked.filter((fiber) => fiber.pollUnsafe() !== undefined).length
  })

  it.effect("queue 256 of an account, and 8 while the process has many requests; more are refused at once", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* queuedBehindTwo(UserId.make(1), 257, false), 1)
      assert.strictEqual(yield* queuedBehindTwo(UserId.make(2), 8, true), 0)
      assert.strictEqual(yield* queuedBehindTwo(UserId.make(3), 10, true), 2)
    }))

  it.effect("are refused after 2 seconds, and free again with the writer that had them", () =>
    Effect.gen(function*() {
      const { writes } = yield* Lanes
      const owner = UserId.make(4)
      const two = yield* Effect.forEach([1, 2], () => Effect.forkChild(writes(owner, Effect.never)))
      const third = yield* Effect.forkChild(Effect.flip(writes(owner, Effect.void)))
      yield* TestClock.adjust("2 seconds")
      assert.deepEqual(yield* Fiber.join(third), new Overloaded({ reason: "writes", retryAfterSeconds: 2 }))
      yield* Fiber.interruptAll(two)
      assert.strictEqual(yield* writes(owner, Effect.succeed("a turn")), "a turn")
    }))
})

layer(TestServer.layer())("a change that waits for another one of the route", (it) => {
  it.effect("is of when it is made, so that later versions have later times", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = yield* makeRoute(rider)
      const change = yield* whileLocked(
        (sql) => sql`SELECT FROM routes WHERE id = ${id} FOR UPDATE`,
        Effect.gen(function*() {
          const waiting = yield* Effect.forkChild(rider.patch(`/routes/${id}`, { name: "Renamed" }))
          yield* untilLocked(1)
          yield* TestClock.adjust("1 second")
          return waiting
        })
      )
      assert.deepInclude((yield* Fiber.join(change)).body, { updatedAt: "1970-01-01T00:00:01.000Z" })
    }))
})
