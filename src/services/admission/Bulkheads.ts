import { Context, Duration, Effect, Layer, Semaphore, Struct } from "effect"
import { settings } from "../settings/Registry.ts"
import { bulkheadGauges, makeTurns, type Turns } from "./Turns.ts"

/** Share of the database connections that a class of work may use at once, at least one. */
const SHARES = { lists: 0.3, publicLists: 0.2, totals: 0.2, downloads: 0.2, imports: 0.1, exports: 0.1, signIns: 0.2 }

/** However many connections there are: counts of what strangers list use the processors of the database. */
const MAX_TOTALS = 2

/** One for what strangers list, and one that they leave. */
const MIN_LISTS = 2

type WorkClass = keyof typeof SHARES

const CLASSES = Struct.keys(SHARES)

const LONGEST_WAIT = Duration.seconds(2)

/** How long a list waits for its total. */
export const LONGEST_COUNT = Duration.seconds(1)

const LEFT_FOR_THE_REST = 1

/** Pending requests for each running one. Parts of imports and exports that have begun are always queued. */
const QUEUE = {
  lists: 64,
  publicLists: 64,
  totals: 64,
  downloads: 64,
  imports: Infinity,
  exports: Infinity,
  signIns: 64
}

const REASONS = {
  lists: "lists",
  publicLists: "lists",
  totals: "totals",
  downloads: "downloads",
  imports: "imports",
  exports: "exports",
  signIns: "sign_ins"
} as const

/**
 * Limits each class of long work to its share of the connections. Others queue in order for a while, and are refused
 * at once where the queue is full. In pools where they would use all connections the classes share what they leave free.
 * Lists of strangers (`publicLists`) are a part of `lists`: one of these is always left to other lists.
 */
export class Bulkheads extends Context.Service<Bulkheads, Readonly<Record<WorkClass, Turns>>>()(
  "route-planning-service/Bulkheads"
) {
  static readonly layer = Layer.effect(
    Bulkheads,
    Effect.gen(function*() {
      const connections = yield* settings.DATABASE_POOL_SIZE

      const atOnce = (work: WorkClass) =>
        Math.min(
          Math.max(work === "lists" ? MIN_LISTS : 1, Math.floor(connections * SHARES[work])),
          work === "totals" ? MAX_TOTALS : connections
        )
      const together = Math.max(1, connections - LEFT_FOR_THE_REST)
      const wanted = CLASSES.reduce((sum, work) => work === "publicLists" ? sum : sum + atOnce(work), 0)
      const shared = wanted > together ? yield* Semaphore.make(together) : undefined

      const turnsOf = (work: WorkClass) =>
        makeTurns({
          atOnce: atOnce(work),
          shared: work === "publicLists" ? undefined : shared,
          longestQueue: atOnce(work) * QUEUE[work],
          longestWait: work === "totals" ? LONGEST_COUNT : LONGEST_WAIT,
          // A saturated process then refuses the rest at once, before it has read their credentials.
          countsQueued: Number.isFinite(QUEUE[work]),
          reason: REASONS[work],
          ...bulkheadGauges(work)
        })

      const lists = yield* turnsOf("lists")
      const strangers = yield* turnsOf("publicLists")

      return Bulkheads.of({
        lists,
        publicLists: (work) => strangers(lists(work)),
        totals: yield* turnsOf("totals"),
        downloads: yield* turnsOf("downloads"),
        imports: yield* turnsOf("imports"),
        exports: yield* turnsOf("exports"),
        signIns: yield* turnsOf("signIns")
      })
    })
  )
}
