import { Effect, Metric } from "effect"
import type { Overloaded } from "../DomainErrors.ts"
import { counterBy } from "../metrics/Counters.ts"

export const running = Metric.gauge("heavy_jobs_running", { description: "Jobs running in threads" })
export const waiting = Metric.gauge("heavy_jobs_waiting", { description: "Jobs queued for a thread" })

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

export const refused = (reason: keyof typeof REFUSALS, error: Overloaded): Effect.Effect<never, Overloaded> =>
  Effect.andThen(Metric.update(REFUSALS[reason], 1), Effect.fail(error))

export const threadDeaths = Metric.counter("heavy_thread_deaths_total", {
  description: "Threads that ended during a job",
  incremental: true
})

export const prepared = Effect.all([
  ...[running, waiting].map((gauge) => Metric.update(gauge, 0)),
  ...[...Object.values(REFUSALS), threadDeaths].map((counter) => Metric.update(counter, 0))
], { discard: true })
