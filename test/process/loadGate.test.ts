import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { once } from "node:events"
import { GatedServer, makeLoadGate } from "../../src/layers/Overload.ts"
import { QueueLateness } from "../../src/services/limits/ConnectionQueue.ts"

const SPIN = 5

/** Keeps the event loop saturated until the scope closes. */
const saturated = Effect.acquireRelease(
  Effect.sync(() => {
    const state = { isOver: false }
    const spin = () => {
      const until = performance.now() + SPIN
      while (performance.now() < until);
      if (!state.isOver) setImmediate(spin)
    }
    spin()
    return state
  }),
  (state) => Effect.sync(() => state.isOver = true)
)

const started = Effect.gen(function*() {
  const server = new GatedServer((_request, response) => response.end())
  const gate = yield* makeLoadGate
  server.gate = gate
  yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
  const address = server.address()
  const port = address === null || typeof address === "string" ? 0 : address.port
  const statusOf = (method: string) =>
    Effect.promise(() =>
      fetch(`http://127.0.0.1:${port}/api/v1/routes`, { method }).then(async (response) => {
        await response.arrayBuffer()
        return response.status
      })
    )
  return { gate, status: statusOf("GET"), writeStatus: statusOf("POST") }
}).pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ MAX_RUNNING_REQUESTS: "8" }))))

const times = (count: number, act: () => void) => Array.from({ length: count }).forEach(() => act())

const until = (status: Effect.Effect<number>, wanted: number) =>
  Effect.repeat(status, { until: (found) => found === wanted })

it.live("a saturated process that has had half of its most requests for a while takes no more until they stay few", () =>
  Effect.gen(function*() {
    const { gate, status } = yield* started
    yield* saturated
    times(3, () => gate.all.add(1))
    assert.deepStrictEqual(new Set(yield* Effect.all(Array.from({ length: 40 }, () => status))), new Set([200]))
    gate.all.add(1)
    yield* until(status, 503)
    gate.all.add(-1)
    assert.strictEqual(yield* status, 200)
    gate.all.add(-1)
    times(2, () => gate.all.add(1))
    yield* until(status, 503)
    times(3, () => gate.all.add(-1))
    // Longer than the gate calls a load standing.
    yield* Effect.sleep("1 second")
    times(3, () => gate.all.add(1))
    assert.strictEqual(yield* status, 200)
    times(4, () => gate.all.add(1))
    yield* until(status, 503)
  }).pipe(Effect.scoped))

it.live("a saturated process that has had its most requests takes no more than half of them from then on", () =>
  Effect.gen(function*() {
    const { gate, status } = yield* started
    yield* saturated
    times(8, () => gate.all.add(1))
    yield* until(status, 503)
    times(4, () => gate.all.add(-1))
    assert.strictEqual(yield* status, 503)
    gate.all.add(-1)
    assert.strictEqual(yield* status, 200)
  }).pipe(Effect.scoped))

it.live("writes that have had a quarter of the most requests for a while are refused, and reads are not", () =>
  Effect.gen(function*() {
    const { gate, status, writeStatus } = yield* started
    yield* saturated
    times(2, () => gate.all.add(1))
    assert.deepStrictEqual(new Set(yield* Effect.all(Array.from({ length: 40 }, () => writeStatus))), new Set([200]))
    times(2, () => gate.all.add(-1))
    times(2, () => gate.writes.add(1))
    yield* until(writeStatus, 503)
    assert.strictEqual(yield* status, 200)
    times(2, () => gate.writes.add(1))
    yield* until(status, 503)
    times(4, () => gate.writes.add(-1))
    assert.strictEqual(yield* writeStatus, 200)
  }).pipe(Effect.scoped))

it.live("a saturated process refuses writes where the queue for the database is late, and then reads", () =>
  Effect.gen(function*() {
    const database = { lateness: 0.24 }
    const { status, writeStatus } = yield* Effect.provideService(started, QueueLateness, () => database.lateness)
    database.lateness = 1
    assert.deepStrictEqual([yield* status, yield* writeStatus], [200, 200])
    database.lateness = 0.24
    yield* saturated
    // Longer than the gate looks back at the event loop.
    yield* Effect.sleep("100 millis")
    assert.strictEqual(yield* writeStatus, 200)
    database.lateness = 0.25
    yield* until(writeStatus, 503)
    assert.strictEqual(yield* status, 200)
    database.lateness = 0.5
    assert.strictEqual(yield* status, 503)
    database.lateness = 0
    assert.deepStrictEqual([yield* status, yield* writeStatus], [200, 200])
  }).pipe(Effect.scoped))

it.live("bursts one after the other are no standing load", () =>
  Effect.gen(function*() {
    const { gate, status } = yield* started
    const standing = yield* started
    yield* saturated
    for (const load of [gate, standing.gate]) times(4, () => load.all.add(1))
    gate.all.add(-1)
    yield* until(standing.status, 503)
    gate.all.add(1)
    assert.strictEqual(yield* status, 200)
  }).pipe(Effect.scoped))

it.live("a process whose event loop has time takes as many as come", () =>
  Effect.gen(function*() {
    const { gate, status } = yield* started
    times(100, () => gate.all.add(1))
    // Longer than the gate calls a load standing.
    yield* Effect.sleep("1 second")
    assert.strictEqual(yield* status, 200)
  }).pipe(Effect.scoped))
