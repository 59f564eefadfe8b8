import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Option, Ref, Schema } from "effect"
import { clonedDatabase } from "../support/Databases.ts"
import { requestHead, sendRaw } from "../support/RawHttp.ts"
import { logged, type Replica, replica } from "../support/Replica.ts"
import { until } from "../support/Waiting.ts"

/** The settings of two workers on one database. */
class TwoWorkers extends Context.Service<TwoWorkers, Readonly<Record<string, string>>>()("test/TwoWorkers") {
  static readonly layer = Layer.effect(
    TwoWorkers,
    Effect.map(clonedDatabase, (url) => ({ DATABASE_URL: url, WORKERS: "2", SHUTDOWN_DRAIN_DELAY: "1 second" }))
  )
}

const Serving = Schema.decodeUnknownOption(Schema.Struct({
  message: Schema.Literal("worker serving"),
  annotations: Schema.Struct({ pid: Schema.Int })
}))

/** The process ids of all workers that ever served. */
const workersOf = (primary: Replica) =>
  logged(primary, "INFO").flatMap((line) =>
    Option.match(Serving(line), { onNone: () => [], onSome: ({ annotations }) => [annotations.pid] })
  )

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const start = Effect.gen(function*() {
  const primary = yield* replica(yield* TwoWorkers)
  yield* until(Effect.sync(() => workersOf(primary).length === 2))
  return primary
})

const gone = (pids: ReadonlyArray<number>) => until(Effect.sync(() => !pids.some(isAlive)))

/** Kills the older of two workers twice. The other responds meanwhile, and a new one is started. */
const killedInTurn = Effect.fnUntraced(function*(primary: Replica) {
  const served = yield* Ref.make(0)
  const calls = sendRaw(primary.server.origin, requestHead("GET /health/ready")).pipe(
    // The call that the killed worker had begun is lost with it.
    Effect.timeoutOption("1 second"),
    Effect.tap((response) =>
      Option.exists(response, ({ status }) => status === 200) ? Ref.update(served, (count) => count + 1) : Effect.void
    ),
    Effect.andThen(Effect.sleep("50 millis")),
    Effect.forever
  )
  const load = yield* Effect.forkChild(calls)
  for (const kills of [1, 2]) {
    const oldest = workersOf(primary).find(isAlive) ?? 0
    const before = yield* Ref.get(served)
    yield* Effect.sync(() => process.kill(oldest, "SIGKILL"))
    yield* gone([oldest])
    yield* until(Effect.map(Ref.get(served), (count) => count > before + 1))
    yield* until(Effect.sync(() => workersOf(primary).length === 2 + kills))
  }
  yield* Fiber.interrupt(load)
})

/** One of the connections waits for a worker that is stopped, and is closed when that is killed. */
const killedBeforeItTook = Effect.fnUntraced(function*(primary: Replica) {
  const [stopped = 0] = workersOf(primary)
  yield* Effect.sync(() => process.kill(stopped, "SIGSTOP"))
  const calls = yield* Effect.replicateEffect(
    Effect.forkChild(sendRaw(primary.server.origin, requestHead("GET /health/live"))),
    4
  )
  yield* until(Effect.sync(() => calls.filter((call) => call.pollUnsafe() === undefined).length === 1))
  yield* Effect.sync(() => process.kill(stopped, "SIGKILL"))
  const statuses = (yield* Fiber.joinAll(calls)).map(({ status }) => status)
  assert.sameMembers(statuses, [undefined, 200, 200, 200])
})

layer(TwoWorkers.layer, { excludeTestServices: true, concurrent: true, timeout: "60 seconds" })("WORKERS", (it) => {
  it.effect(
    "are as many processes behind one port, replaced as often as they are killed while another serves, and all drained",
    () =>
      Effect.gen(function*() {
        const primary = yield* start
        assert.lengthOf(logged(primary, "WARN").filter(({ message }) => String(message).includes("REDIS_URL")), 1)
        const statuses = yield* Effect.all(
          Array.from({ length: 8 }, () => primary.server.call("GET", "//health/ready"))
        )
        assert.deepStrictEqual(new Set(statuses.map(({ status }) => status)), new Set([200]))

        const rubbish = yield* Effect.all(
          Array.from({ length: 4 }, () => sendRaw(primary.server.origin, "rubbish\r\n\r\n"))
        )
        assert.isTrue(rubbish.every(({ body }) => body.startsWith(`{"statusCode":400,`)))

        const scrape = yield* primary.server.call("GET", "//metrics")
        const refused = /^http_server_request_duration_seconds_count\{.*route="unmatched",status="400".*\} (\d+)$/gm
        const counted = [...scrape.text.matchAll(refused)].map(([, count]) => Number(count))
        assert.strictEqual(counted.reduce((sum, count) => sum + count, 0), 4)
        const told = [...scrape.text.matchAll(/^process_cpu_seconds_total\{worker="(\d+)"\} /gm)]
        assert.deepStrictEqual(new Set(told.map(([, worker]) => worker)), new Set(["1", "2"]))
        assert.lengthOf([...scrape.text.matchAll(/^# TYPE process_cpu_seconds_total /gm)], 1)

        yield* killedInTurn(primary)

        yield* primary.tell("SIGTERM")
        const ready = sendRaw(primary.server.origin, requestHead("GET /health/ready"))
        yield* until(Effect.map(ready, ({ status }) => status === 503))
        assert.strictEqual((yield* primary.ended).code, 0)
        assert.deepStrictEqual(workersOf(primary).filter(isAlive), [])
      }),
    60_000
  )

  it.effect(
    "leave no connection open when they are killed, and do not outlive the process that started them",
    () =>
      Effect.gen(function*() {
        const [killed, told] = yield* Effect.all([start, start], { concurrency: 2 })
        yield* killedBeforeItTook(killed)
        yield* killed.tell("SIGKILL")
        yield* gone(workersOf(killed))
        // A worker that is stopped cannot drain.
        const [stopped = 0, other = 0] = workersOf(told)
        yield* Effect.sync(() => process.kill(stopped, "SIGSTOP"))
        yield* told.tell("SIGTERM")
        yield* gone([other])
        assert.isTrue(isAlive(told.pid))
        yield* told.tell("SIGINT")
        assert.strictEqual((yield* told.ended).code, 1)
        yield* gone(workersOf(told))
      }),
    60_000
  )

  it.effect(
    "are refused with a number that is none, and give up at once when none can start",
    () =>
      Effect.gen(function*() {
        const settings = yield* TwoWorkers
        const [wrong, away] = yield* Effect.all([
          replica({ ...settings, WORKERS: "0" }),
          replica({ ...settings, DATABASE_URL: "postgres://127.0.0.1:1/none", DATABASE_WAIT: "300 millis" })
        ])
        assert.strictEqual((yield* wrong.ended).code, 1)
        assert.include(wrong.output(), "WORKERS")
        assert.strictEqual((yield* away.ended).code, 1)
        assert.lengthOf(logged(away, "FATAL"), 1)
      }),
    60_000
  )
})
