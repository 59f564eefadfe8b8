import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { type Lane, RunningRequests } from "../../src/services/admission/Lane.ts"
import { Lanes, numbersOn } from "../../src/services/admission/Lanes.ts"
import { anonymous, type Rider, signedInAs } from "../support/Actors.ts"
import { created, newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const figureOf = (name: string, work: string) =>
  Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")).pipe(
    Effect.map(({ text }) => Number(new RegExp(`^${name}\\{class="${work}"\\} (\\d+)$`, "m").exec(text)?.[1]))
  )

/** So many of a class of work run at once in a pool of ten; all wait for the same table. */
interface Work {
  readonly name: string
  readonly atOnce: number
  readonly table: string
  readonly message: string
  readonly call: (rider: Rider, routeId: number) => Effect.Effect<Answer>
}

const GPX = `<gpx version="1.1"><rte><name>x</name><rtept lat="47" lon="9"/><rtept lat="48" lon="9"/></rte></gpx>`

const WORK: ReadonlyArray<Work> = [
  {
    name: "publicLists",
    atOnce: 2,
    table: "routes",
    message: "Too many lists are being read: try again",
    call: (rider) => rider.get("/routes/public")
  },
  {
    name: "lists",
    atOnce: 3,
    table: "routes",
    message: "Too many lists are being read: try again",
    call: (rider) => rider.get("/admin/routes")
  },
  {
    name: "downloads",
    atOnce: 2,
    table: "routes",
    message: "Too many files are being written: try again",
    call: (rider, routeId) => rider.get(`/routes/${routeId}/gpx`)
  },
  {
    name: "imports",
    atOnce: 1,
    table: "routes",
    message: "Too many files are being imported: try again",
    call: (rider) =>
      rider.post("/routes/import?duplicates=allow", undefined, {
        raw: GPX,
        headers: { "content-type": "application/gpx+xml" }
      })
  },
  {
    name: "exports",
    atOnce: 1,
    table: "routes",
    message: "Too many accounts are being exported: try again",
    call: (rider) => rider.get("/users/me/export")
  },
  {
    name: "signIns",
    atOnce: 2,
    table: "sign_ups",
    message: "Too many sign-ins are in progress: try again",
    call: ({ email, password, post }) => post("/auth/login-email", { email, password })
  }
]

const ADMIN = "admin@example.com"

layer(TestServer.layer({ ADMIN_EMAILS: ADMIN }))("work that takes long", (it) => {
  it.effect("leaves connections for other work, and what queues for 2 seconds is 503 with Retry-After", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ email: ADMIN })
      const sql = yield* SqlClient.SqlClient
      const { id } = created((yield* rider.post("/routes", newRoute({}))).body)
      for (const { atOnce, call, message, name, table } of WORK) {
        const running = yield* sql.withTransaction(Effect.gen(function*() {
          yield* sql`LOCK TABLE ${sql(table)} IN ACCESS EXCLUSIVE MODE`
          const calls = yield* Effect.forkChild(
            Effect.all(Array.from({ length: 2 * atOnce }, () => call(rider, id)), { concurrency: "unbounded" })
          )
          yield* until(Effect.map(figureOf("bulkhead_waiting", name), (waiting) => waiting === atOnce))
          assert.strictEqual(yield* figureOf("bulkhead_running", name), atOnce, name)
          assert.strictEqual((yield* rider.get("/me/sessions")).status, 200, name)
          yield* TestClock.adjust("2 seconds")
          yield* until(Effect.map(figureOf("bulkhead_waiting", name), (waiting) => waiting === 0))
          return calls
        }))
        const responses = yield* Fiber.join(running)
        const refused = responses.filter(({ status }) => status === 503)
        assert.strictEqual(responses.filter(({ status }) => status < 300).length, atOnce, name)
        assert.strictEqual(refused.length, atOnce, name)
        for (const { body, headers } of refused) {
          assert.strictEqual(headers.get("retry-after"), "2")
          assert.deepInclude(body, { code: "INTERNAL", message })
        }
        assert.isBelow((yield* call(rider, id)).status, 300, name)
        yield* until(Effect.map(figureOf("bulkhead_running", name), (running) => running === 0))
      }
    }))
})

describe("the classes of work", () => {
  it.effect("leave one list at least to others, however many of strangers are slow", () =>
    Effect.forEach([3, 6, 10, 100], (connections) =>
      Effect.gen(function*() {
        const { lists, publicLists } = yield* Lanes
        yield* Effect.replicateEffect(Effect.forkChild(Effect.exit(publicLists(Effect.never))), 3 * connections)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* lists(Effect.succeed("an own list")), "an own list")
      }).pipe(
        Effect.provide(Lanes.layer.pipe(
          Layer.provide(
            ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_POOL_SIZE: String(connections) }))
          )
        ))
      )))

  const runningWith = Effect.fnUntraced(function*(connections: number) {
    const { writes: _, ...shares } = yield* Effect.service(Lanes).pipe(
      Effect.provide(Lanes.layer.pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_POOL_SIZE: String(connections) })))
      ))
    )
    const running = { all: 0 }
    const work = Effect.andThen(Effect.sync(() => running.all++), Effect.never)
    yield* Effect.forEach(
      Object.values(shares),
      (turns) =>
        Effect.forEach(Array.from({ length: connections }), () => Effect.forkChild(turns(work)), { discard: true }),
      {
        discard: true
      }
    )
    yield* TestClock.adjust("1 second")
    return running.all
  })

  it.effect("together leave a connection to everything else, but in a pool of one", () =>
    Effect.gen(function*() {
      const running = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 10, 100], runningWith)
      assert.deepStrictEqual(running, [1, 1, 2, 3, 4, 5, 9, 92])
    }))

  const countedWhileQueued = Effect.fnUntraced(function*(turns: Lane) {
    const counted = { requests: 2 }
    const counter = { add: (change: 1 | -1) => void (counted.requests += change), areMany: () => false }
    const two = Array.from({ length: 2 }, () => Effect.forkChild(turns(Effect.never)))
    yield* Effect.provideService(Effect.all(two), RunningRequests, counter)
    yield* TestClock.adjust("1 second")
    return counted.requests
  })

  it.effect("count as running requests while they queue, but for imports and exports, which may wait as long as it takes", () =>
    Effect.gen(function*() {
      const { downloads, exports, imports, lists, signIns } = yield* Lanes
      const counted = yield* Effect.forEach([lists, downloads, signIns, imports, exports], countedWhileQueued)
      assert.deepStrictEqual(counted, [2, 2, 2, 1, 1])
    }).pipe(
      Effect.provide(Lanes.layer.pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_POOL_SIZE: "9" })))
      ))
    ))

  it.effect("that share the rest of a small pool release it, in order of arrival", () =>
    Effect.gen(function*() {
      const { imports, lists } = yield* Lanes
      const first = yield* Effect.forkChild(lists(Effect.never))
      const second = yield* Effect.forkChild(Effect.exit(imports(Effect.die("it never has a turn"))))
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* Effect.flip(Effect.flatten(Fiber.join(second))), { reason: "imports" })
      const third = yield* Effect.forkChild(imports(Effect.succeed("a turn")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(first)
      assert.strictEqual(yield* Fiber.join(third), "a turn")
      assert.strictEqual(yield* lists(Effect.succeed("another")), "another")
    }).pipe(
      Effect.provide(Lanes.layer.pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_POOL_SIZE: "2" })))
      ))
    ))
})

describe("four connections", () => {
  it("run two lists at once, one of them of strangers, two writes of an account, and one of all other work", () => {
    const { lists, writes, ...others } = numbersOn(4)
    assert.deepStrictEqual([lists.atOnce, writes.atOnce], [2, 2])
    assert.deepStrictEqual(Object.values(others).map(({ atOnce }) => atOnce), Array.from(Object.keys(others), () => 1))
  })
})
