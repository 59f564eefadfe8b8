import { Config, Deferred, Duration, Effect, Option, Schema } from "effect"
import cluster, { type Worker } from "node:cluster"
import { MetricsOfAll } from "../../services/metrics/Metrics.ts"
import { whole } from "../../services/settings/SettingTypes.ts"
import { redisUrl } from "../Redis.ts"
import { closeUntaken } from "./HandedConnections.ts"
import { Serving } from "./Starting.ts"
import { gatherMetrics, relayMetrics } from "./WorkerMetrics.ts"

export const workerCount = whole(1, 64, "WORKERS").pipe(Config.withDefault(1))

const STEADY = Duration.seconds(30)

const LEAST_BACK_OFF = Duration.millis(100)

const MAX_BACK_OFF = Duration.seconds(1)

/** For a worker that ended by itself before it served: the next one probably does, too. */
const MAX_BACK_OFF_OF_FAILED = Duration.seconds(10)

interface Death {
  /** Others shortly before it, without those that were killed. */
  readonly recent: number
  readonly wasKilled: boolean
  readonly hasServed: boolean
}

/** How long the next worker waits. That one was killed (SIGKILL) says nothing about the next one. */
export const backOff = ({ hasServed, recent, wasKilled }: Death): Duration.Duration =>
  wasKilled ? LEAST_BACK_OFF : Duration.min(
    Duration.times(LEAST_BACK_OFF, 2 ** recent),
    hasServed ? MAX_BACK_OFF : MAX_BACK_OFF_OF_FAILED
  )

const ended = (worker: Worker) =>
  Effect.callback<void>((resume) => {
    if (worker.isDead()) return resume(Effect.void)
    worker.once("exit", () => resume(Effect.void))
  })

const isServing = Schema.is(Serving)

const serving = (worker: Worker) =>
  Effect.callback<void>((resume) => {
    worker.on("message", (message) => {
      if (isServing(message)) resume(Effect.void)
    })
  })

const life = (onListening: Effect.Effect<unknown>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const worker = cluster.fork()
      closeUntaken(worker)
      return worker
    }),
    (worker) =>
      Effect.raceFirst(
        serving(worker).pipe(
          Effect.andThen(Effect.logInfo("worker serving", { pid: worker.process.pid })),
          Effect.andThen(onListening),
          Effect.andThen(Effect.never)
        ),
        Effect.as(ended(worker), worker)
      ),
    (worker) =>
      Effect.suspend(() => {
        worker.process.kill("SIGTERM")
        return ended(worker)
      })
  )

class NeverServed extends Schema.TaggedError<NeverServed>()("NeverServed", {}) {}

const supervised = (served: Deferred.Deferred<void>, deaths: number): Effect.Effect<never, NeverServed> =>
  Effect.gen(function*() {
    const hasServed = yield* Deferred.make<void>()
    const [age, { process: { exitCode, pid, signalCode } }] = yield* Effect.timed(
      life(Effect.andThen(Deferred.succeed(hasServed, undefined), Deferred.succeed(served, undefined)))
    )
    yield* Effect.logWarning("worker ended", { pid, ending: signalCode ?? exitCode })
    if (!(yield* Deferred.isDone(served))) return yield* new NeverServed()
    const recent = Duration.isGreaterThan(age, STEADY) ? 0 : deaths
    const wasKilled = signalCode === "SIGKILL"
    yield* Effect.sleep(backOff({ recent, wasKilled, hasServed: yield* Deferred.isDone(hasServed) }))
    return yield* supervised(served, wasKilled ? recent : recent + 1)
  })

const killAll = () => Object.values(cluster.workers ?? {}).forEach((worker) => worker?.process.kill("SIGKILL"))

/** Starts the others when the first worker serves: what prevents one from starting prevents all. */
const primary = Effect.fnUntraced(
  function*(count: number) {
    if (Option.isNone(yield* redisUrl)) {
      yield* Effect.logWarning("REDIS_URL not set, each worker counts its own rate limits")
    }
    yield* Effect.sync(() => process.once("exit", killAll))
    yield* relayMetrics
    const served = yield* Deferred.make<void>()
    const others = Array.from(
      { length: count - 1 },
      () => Effect.andThen(Deferred.await(served), supervised(served, 0))
    )
    yield* Effect.all([supervised(served, 0), ...others], { concurrency: "unbounded", discard: true })
  },
  Effect.scoped,
  Effect.catchTag("NeverServed", () => Effect.sync(() => void (process.exitCode = 1)))
)

/** Runs a program in `WORKERS` processes that share one port (1: in this process). Workers end with this process. */
export const inWorkers = <E>(program: Effect.Effect<never, E>) =>
  Effect.gen(function*() {
    if (cluster.isWorker) return yield* Effect.provideService(program, MetricsOfAll, gatherMetrics)
    const count = yield* workerCount
    return yield* count === 1 ? program : primary(count)
  })
