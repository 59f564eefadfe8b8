import { Effect, Metric } from "effect"
import type { Unavailable } from "../../schema/Errors.ts"
import { counterBy } from "../metrics/Counters.ts"

/** Jobs that threads work on, and those that are queued for one. */
export const running = Metric.gauge("heavy_jobs_running", { description: "Jobs that threads work on" })
export const waiting = Metric.gauge("heavy_jobs_waiting", { description: "Jobs that are queued for a thread" })

const refusalsFor = counterBy<"queue" | "wait" | "time" | "memory">(
  "heavy_job_refusals_total",
  "reason",
  "Jobs that ended with 503, by the limit that they exceeded"
)

const REFUSALS = {
  queue: refusalsFor("queue"),
  wait: refusalsFor("wait"),
  time: refusalsFor("time"),
  memory: refusalsFor("memory")
}

/** Fails, and counts the failure by its reason. */
export const refused = (reason: keyof typeof REFUSALS, error: Unavailable): Effect.Effect<never, Unavailable> =>
  Effect.andThen(Metric.update(REFUSALS[reason], 1), Effect.fail(error))

/** Threads that ended before they had replied: out of memory, by an uncaught exception, or by themselves. */
export const threadDeaths = Metric.counter("heavy_thread_deaths_total", {
  description: "Threads that ended during a job",
  incremental: true
})

/** Has all of them there before the first job. */
export const prepared = Effect.all([
  ...[running, waiting].map((gauge) => Metric.update(gauge, 0)),
  ...[...Object.values(REFUSALS), threadDeaths].map((counter) => Metric.update(counter, 0))
], { discard: true })
