import { Context, Duration, Effect, Layer, Metric } from "effect"
import { poolSize } from "../metrics/DatabasePool.ts"
import { makeTurns, type Turns } from "./Turns.ts"

/** The part of the database's connections that each class of work may use at once; together they leave a tenth of ten. */
const SHARES = { lists: 0.3, downloads: 0.2, imports: 0.1, exports: 0.1, signIns: 0.2 }

type WorkClass = keyof typeof SHARES

const MESSAGES: Record<WorkClass, string> = {
  lists: "Too many lists are being read: try again",
  downloads: "Too many files are being written: try again",
  imports: "Too many files are being imported: try again",
  exports: "Too many accounts are being exported: try again",
  signIns: "Too many sign-ins are in progress: try again"
}

const LONGEST_WAIT = Duration.seconds(2)

const gauge = (name: string, description: string, work: WorkClass) =>
  Metric.gauge(name, { description, attributes: { class: work } })

/**
 * Keeps the work that uses connections and the processor for long from taking all of them: each class has a share, and
 * what is beyond it queues, in order of arrival, for at most 2 seconds. One caller may use the whole share of a class.
 */
export class Bulkheads extends Context.Service<Bulkheads, Readonly<Record<WorkClass, Turns>>>()(
  "route-planning-service/Bulkheads"
) {
  static readonly layer = Layer.effect(
    Bulkheads,
    Effect.gen(function*() {
      const connections = yield* poolSize

      const turnsOf = (work: WorkClass) =>
        makeTurns({
          atOnce: Math.max(1, Math.floor(connections * SHARES[work])),
          longestWait: LONGEST_WAIT,
          message: MESSAGES[work],
          running: gauge("bulkhead_running", "Requests of a class that are worked on", work),
          waiting: gauge("bulkhead_waiting", "Requests of a class that are queued", work)
        })

      return Bulkheads.of({
        lists: yield* turnsOf("lists"),
        downloads: yield* turnsOf("downloads"),
        imports: yield* turnsOf("imports"),
        exports: yield* turnsOf("exports"),
        signIns: yield* turnsOf("signIns")
      })
    })
  )
}
