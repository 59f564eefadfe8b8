import { Clock, Config, Context, Duration, Effect, Exit, Fiber, Layer, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { MetricsDisabled } from "../DomainErrors.ts"
import { build } from "./Build.ts"
import { settings } from "./SettingsRegistry.ts"

const PROBE_TIMEOUT = Duration.millis(250)

const gauge = (name: string, description: string) => Metric.gauge(name, { description })

const SIZE = gauge("database_pool_size_connections", "Connections that the pool opens at most")

const WAIT = gauge(
  "database_pool_wait_seconds",
  "How long the last probe waited for a connection; 0.25 s if it got none"
)

/** Measures the pool by requesting a connection: `@effect/sql-pg` does not report how long statements wait for one. */
const makePoolProbe = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* Metric.update(SIZE, yield* settings.DATABASE_POOL_SIZE)
  return Effect.gen(function*() {
    const started = yield* Clock.currentTimeMillis
    // The read does not wait for a connection that is being opened: that does not end when interrupted.
    const connection = yield* Effect.forkDetach(Effect.scoped(sql.reserve))
    const probed = yield* Fiber.join(connection).pipe(Effect.timeoutOption(PROBE_TIMEOUT), Effect.exit)
    connection.interruptUnsafe()
    const waited = (yield* Clock.currentTimeMillis) - started
    // A full queue refuses at once: that is no short wait.
    const longest = Duration.toMillis(PROBE_TIMEOUT)
    yield* Metric.update(WAIT, (Exit.isSuccess(probed) ? waited : Math.max(waited, longest)) / 1000)
  })
})

const CPU = Metric.counter("process_cpu_seconds_total", {
  description: "Processor time, user and system, in seconds",
  incremental: true
})

const STARTED = gauge("process_start_time_seconds", "When the process started, in seconds since 1970")
const RESIDENT = gauge("process_resident_memory_bytes", "Resident memory")
const HEAP_TOTAL = gauge("nodejs_heap_size_total_bytes", "Heap of V8")
const HEAP_USED = gauge("nodejs_heap_size_used_bytes", "Heap of V8 that is in use")
const LAG = gauge("nodejs_eventloop_lag_p99_seconds", "99th percentile of the event loop's lag")

const LAG_RESOLUTION_MS = 20

const eventLoopDelay = Effect.acquireRelease(
  Effect.sync(() => {
    const histogram = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
    histogram.enable()
    return histogram
  }),
  (histogram) => Effect.sync(() => histogram.disable())
)

/** Measures the process under the names of prom-client. The lag is since the last time. */
const makeProcessProbe = Effect.gen(function*() {
  const delay = yield* eventLoopDelay
  const state = { cpuSeconds: 0 }
  yield* Metric.update(STARTED, performance.timeOrigin / 1000)
  const probe = Effect.suspend(() => {
    const { heapTotal, heapUsed, rss } = process.memoryUsage()
    const { system, user } = process.cpuUsage()
    const before = state.cpuSeconds
    state.cpuSeconds = (system + user) / 1e6
    const lag = delay.percentile(99) / 1e9
    delay.reset()
    return Effect.all([
      Metric.update(CPU, state.cpuSeconds - before),
      Metric.update(RESIDENT, rss),
      Metric.update(HEAP_TOTAL, heapTotal),
      Metric.update(HEAP_USED, heapUsed),
      Metric.update(LAG, lag)
    ], { discard: true })
  })
  yield* probe
  return probe
})

/** Makes a counter for each value of an attribute. */
export const countersBy = <const Value extends string>(
  name: string,
  attribute: string,
  values: ReadonlyArray<Value>,
  description: string
): Readonly<Record<Value, Metric.Counter<number>>> => {
  const counterOf = (value: Value) =>
    Metric.counter(name, { description, attributes: { [attribute]: value }, incremental: true })
  const counters: Readonly<Record<string, Metric.Counter<number>>> = Object.fromEntries(
    values.map((value) => [value, counterOf(value)])
  )
  return counters
}

/** A metric that was updated is in the next scrape, so that the first event is an increase. */
export const atZero = (metrics: ReadonlyArray<Metric.Metric<number, unknown>>) =>
  Effect.forEach(metrics, (metric) => Metric.update(metric, 0), { discard: true })

export const during = (gauge: Metric.Gauge<number>, change = 1) => <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Metric.modify(gauge, change),
    () => work,
    () => Metric.modify(gauge, -change)
  )

export const metricsEnabled = Config.all([settings.TELEMETRY_ENABLED, settings.METRICS_ENABLED]).pipe(
  Config.map((switches) => switches.every((isOn) => isOn))
)

const BUILD = gauge("service_build_info", "1, with the version and the commit that run")

export class Metrics extends Context.Service<Metrics, {
  /** Renders Prometheus' text format (version 0.0.4). */
  readonly text: Effect.Effect<string, MetricsDisabled>
}>()("route-planning-service/Metrics") {
  static readonly layer = Layer.effect(
    Metrics,
    Effect.gen(function*() {
      const probePool = yield* makePoolProbe
      if (!(yield* metricsEnabled)) {
        return Metrics.of({ text: Effect.suspend(() => Effect.fail(new MetricsDisabled())) })
      }
      const probeProcess = yield* makeProcessProbe
      const { commit, version } = yield* build
      yield* Metric.update(Metric.withAttributes(BUILD, { version, commit }), 1)
      return Metrics.of({ text: Effect.andThen(Effect.andThen(probePool, probeProcess), PrometheusMetrics.format()) })
    })
  )
}

/** Clients can cause warnings, so their number is bounded. */
const MAX_WARNINGS = 50

/** Warnings tell the host of the service what to change. Each is logged once, and listed for administrators. */
export class Warnings extends Context.Service<Warnings, {
  readonly add: (warning: string) => Effect.Effect<void>
  readonly all: Effect.Effect<ReadonlyArray<string>>
}>()("route-planning-service/Warnings") {
  static readonly layer = Layer.sync(Warnings, () => {
    const known = new Set<string>()
    return Warnings.of({
      add: (warning) =>
        Effect.suspend(() => {
          if (known.has(warning) || known.size === MAX_WARNINGS) return Effect.void
          known.add(warning)
          return Effect.logWarning(warning)
        }),
      all: Effect.sync(() => [...known])
    })
  })
}
