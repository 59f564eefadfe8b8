import { Cache, Context, Duration, Effect, Exit, Fiber, Layer, Record, Semaphore } from "effect"
import type { SqlError } from "effect/sql"
import { availableParallelism } from "node:os"
import type { UserId } from "../../schema/Ids.ts"
import { againAfterDeadlock } from "../db/DatabaseErrors.ts"
import { Overloaded } from "../DomainErrors.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { type Lane, type LaneNumbers, makeLane, makeLanesByKey } from "./Lane.ts"

const LONGEST_WAIT = Duration.seconds(2)

const LONGEST_COUNT = Duration.seconds(1)

interface Share {
  /** A class has this part of the connections of the database, at least `least` and at most `most` of them. */
  readonly share: number
  readonly least?: number
  readonly most?: number
  /** This many requests may be queued for each running one. */
  readonly queued?: number
  readonly longestWait?: Duration.Duration
  readonly reason: Overloaded["reason"]
}

/**
 * Each class of long work has its share of the connections. More `totals`, counts of what strangers list, would take
 * the processors of the database. One list of two is left to those that are not `publicLists`. Parts of imports and
 * exports that have begun are always queued.
 */
export const SHARES = {
  lists: { share: 0.3, least: 2, reason: "lists" },
  publicLists: { share: 0.2, reason: "lists" },
  totals: { share: 0.2, most: 2, longestWait: LONGEST_COUNT, reason: "totals" },
  downloads: { share: 0.2, reason: "downloads" },
  imports: { share: 0.1, queued: Infinity, reason: "imports" },
  exports: { share: 0.1, queued: Infinity, reason: "exports" },
  signIns: { share: 0.2, reason: "sign_ins" }
} satisfies Readonly<Record<string, Share>>

/** Writes to one account take turns. With two at least, the second begins as soon as the first has committed. */
export const WRITES = { share: 0.4, least: 2, reason: "writes" } satisfies Share

const WRITES_QUEUED = { longestQueue: 256, longestCrowdedQueue: 8 }

const UNBOUNDED = { longestQueue: Infinity, countsQueued: false }

/** This work needs no share of the connections. */
export const LANES = {
  /** Passwords are hashed here. A longer queue would let requests time out with the work done for nothing. */
  passwords: { ...UNBOUNDED, atOnce: availableParallelism(), longestWait: LONGEST_WAIT, reason: "passwords" },
  /** Uses of the links of one account take turns, so that only one costs a hash. */
  links: { ...UNBOUNDED, atOnce: 1, longestWait: LONGEST_WAIT, reason: "links" },
  /** A thousand requests that waited for a change may wake and read at once. */
  changes: { ...UNBOUNDED, atOnce: 2, longestWait: Duration.seconds(30), reason: "changes" },
  /** Pieces of traces take the engine seconds: more of them would run into its timeout, and open the circuit. */
  traces: { ...UNBOUNDED, atOnce: 2, longestWait: Duration.seconds(10), reason: "traces" }
} satisfies Readonly<Record<string, LaneNumbers>>

/** The timeout of each work bounds it; work is done in order of arrival. */
export const AT_ONCE = {
  /** An archive that is imported has a line and a batch in memory, at most 20 MiB. */
  archives: 8,
  archivePieces: 2,
  engine: { running: 32, queued: 64 },
  exchanges: 32,
  mails: 2
}

const QUEUED = 64

const LEFT_FOR_THE_REST = 1

const numbersOf = (connections: number, share: Share): LaneNumbers => {
  const { least = 1, longestWait = LONGEST_WAIT, most = connections, queued = QUEUED, reason } = share
  const atOnce = Math.min(Math.max(least, Math.floor(connections * share.share)), most)
  // A request in such a queue counts: a saturated process then refuses the rest before it has read their credentials.
  return { atOnce, longestQueue: atOnce * queued, longestWait, countsQueued: Number.isFinite(queued), reason }
}

/** Lists of strangers are lists too, and writes have a lane for each account. */
export const numbersOn = (connections: number) => ({
  ...Record.map(SHARES, (share: Share) => numbersOf(connections, share)),
  writes: { ...numbersOf(connections, WRITES), ...WRITES_QUEUED }
})

const HeldTurn = Context.Reference<UserId | undefined>("route-planning-service/Lanes/HeldTurn", {
  defaultValue: () => undefined
})

/**
 * Limits each class of work on the database, so that one leaves connections to the others. Work that finds no place
 * queues in order, and fails with `Overloaded` after its longest wait, or at once where the queue is full. All
 * classes together leave `LEFT_FOR_THE_REST` connections free.
 */
export class Lanes extends Context.Service<
  Lanes,
  & Readonly<Record<keyof typeof SHARES, Lane>>
  & {
    /**
     * Writes of one account, which would wait for each other in the database, take turns before they have a connection.
     * Each service takes a turn around such a transaction, which is repeated after a deadlock; work in a turn of the same
     * account needs no other.
     */
    readonly writes: <A, E, R>(owner: UserId, work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>
  }
>()("route-planning-service/Lanes") {
  static readonly layer = Layer.effect(
    Lanes,
    Effect.gen(function*() {
      const connections = yield* settings.DATABASE_POOL_SIZE
      const { writes, ...numbers } = numbersOn(connections)
      const shared = yield* Semaphore.make(Math.max(1, connections - LEFT_FOR_THE_REST))

      const laneOf = (name: keyof typeof numbers) => makeLane(name, numbers[name], { shared })

      const lists = yield* laneOf("lists")
      const strangers = yield* makeLane("publicLists", numbers.publicLists)
      const writers = yield* makeLanesByKey<UserId>("writes", writes)

      return Lanes.of({
        lists,
        publicLists: (work) => strangers(lists(work)),
        totals: yield* laneOf("totals"),
        downloads: yield* laneOf("downloads"),
        imports: yield* laneOf("imports"),
        exports: yield* laneOf("exports"),
        signIns: yield* laneOf("signIns"),
        writes: (owner, work) =>
          Effect.flatMap(
            HeldTurn,
            (held) =>
              held === owner ? work : writers(owner)(againAfterDeadlock(Effect.provideService(work, HeldTurn, owner)))
          )
      })
    })
  )
}

const MAX_KEPT = 1000

const late = Effect.suspend(() => Effect.fail(Overloaded.retryAfter("totals", LONGEST_COUNT)))

/**
 * Counts what strangers list. Equal counts that run at once are one, and a total is kept since its count began for
 * `keptFor`. Fails with `Overloaded` after a second; the count goes on for the next caller.
 */
export const sharedTotals = Effect.fnUntraced(function*(
  count: (key: string) => Effect.Effect<number, SqlError.SqlError>,
  keptFor: Duration.Duration
) {
  const { totals } = yield* Lanes
  const scope = yield* Effect.scope

  const counts = yield* Cache.makeWith(
    (key: string) => Effect.timed(totals(count(key))),
    {
      capacity: MAX_KEPT,
      timeToLive: (exit) => Exit.isSuccess(exit) ? Duration.subtract(keptFor, exit.value[0]) : Duration.zero
    }
  )

  // A fiber that stays is needed: the cache would interrupt the count with the last caller that leaves.
  return (key: string) =>
    Effect.forkIn(Cache.get(counts, key), scope).pipe(
      Effect.flatMap(Fiber.join),
      Effect.timeoutOrElse({ duration: LONGEST_COUNT, orElse: () => late }),
      Effect.map(([, total]) => total)
    )
})
