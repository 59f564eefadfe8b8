import { Context, Duration, Effect, Metric, Option, Scope, Semaphore } from "effect"
import { Overloaded } from "../DomainErrors.ts"
import { atZero, during } from "../operations/Metrics.ts"

export interface RequestCounter {
  readonly add: (change: 1 | -1) => void
  /** A busy process refuses another request while this is true. */
  readonly areMany: () => boolean
}

/** The gate sets this counter, which counts the request that the fiber works on. */
export const RunningRequests = Context.Reference<RequestCounter>("route-planning-service/RunningRequests", {
  defaultValue: () => UNCOUNTED
})

const UNCOUNTED: RequestCounter = { add: () => undefined, areMany: () => false }

/** Does not count a request that waits for a body, a thread or another service. Waits for the database count. */
export const waitingForOthers = <A, E, R>(wait: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(RunningRequests, ({ add }) =>
    Effect.acquireUseRelease(
      Effect.sync(() => add(-1)),
      () => Effect.provideService(wait, RunningRequests, UNCOUNTED),
      () => Effect.sync(() => add(1))
    ))

export interface LaneNumbers {
  readonly atOnce: number
  /** Work that has begun is always queued where this is infinity. */
  readonly longestQueue: number
  /** The queue has this limit while the process has `MAX_RUNNING_REQUESTS` or more. */
  readonly longestCrowdedQueue?: number
  readonly longestWait: Duration.Duration
  /** A queued request counts as running if true: a process with a long queue then refuses the rest at once. */
  readonly countsQueued: boolean
  readonly reason: Overloaded["reason"]
}

/** Runs work in a lane. Fails with `Overloaded` where the queue is full, or after the longest wait. */
export type Lane = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>

interface Gauges {
  readonly running: Metric.Gauge<number>
  readonly waiting: Metric.Gauge<number>
}

const gauge = (name: string, description: string, lane: string) =>
  Metric.gauge(name, { description, attributes: { class: lane } })

const gaugesOf = (lane: string): Gauges => ({
  running: gauge("bulkhead_running", "Running requests of a class", lane),
  waiting: gauge("bulkhead_waiting", "Queued requests of a class", lane)
})

const laneBy = (
  numbers: LaneNumbers,
  { running, waiting }: Gauges,
  shared: Semaphore.Semaphore | undefined
): Lane => {
  const { atOnce, countsQueued, longestQueue, longestWait, reason } = numbers
  const { longestCrowdedQueue = longestQueue } = numbers
  const semaphore = Semaphore.makeUnsafe(atOnce)

  const refused = Effect.suspend(() => Effect.fail(Overloaded.retryAfter(reason, longestWait)))

  // The scope owns a permit as soon as it is taken: a timeout in the same instant cannot lose it.
  const permits = shared === undefined
    ? semaphore.takeScoped(1)
    : Effect.andThen(semaphore.takeScoped(1), shared.takeScoped(1))

  const turn = permits.pipe(
    Effect.timeoutOrElse({ duration: longestWait, orElse: () => refused }),
    during(waiting)
  )

  const queue = { length: 0 }

  const queuedTurn = Effect.acquireUseRelease(
    Effect.sync(() => queue.length++),
    () => countsQueued ? turn : waitingForOthers(turn),
    () => Effect.sync(() => queue.length--)
  )

  // A free permit belongs to the first in the queue, even before that is woken.
  return (work) => {
    const counted = during(running)(work)
    // Resources of the work belong to the caller and outlive the turn.
    const inTurn = Effect.scopedWith((scope) => Effect.andThen(Scope.provide(queuedTurn, scope), counted))
    const queued = Effect.flatMap(
      RunningRequests,
      ({ areMany }) => queue.length >= (areMany() ? longestCrowdedQueue : longestQueue) ? refused : inTurn
    )
    return Effect.suspend(() =>
      queue.length > 0 || shared !== undefined ? queued : Effect.flatMap(
        semaphore.withPermitsIfAvailable(1)(counted),
        (done) => Option.isSome(done) ? Effect.succeed(done.value) : queued
      )
    )
  }
}

interface LaneOptions {
  /** Each work takes one of these permits beside one of the lane. */
  readonly shared?: Semaphore.Semaphore | undefined
  /** If absent, the class has gauges with the name of the lane. */
  readonly gauges?: Gauges
}

export const makeLane = (
  name: string,
  numbers: LaneNumbers,
  { gauges = gaugesOf(name), shared }: LaneOptions = {}
): Effect.Effect<Lane> => Effect.as(atZero(Object.values(gauges)), laneBy(numbers, gauges, shared))

/** Makes a lane for each key, and forgets it when its last work ends. The gauges count all of them together. */
export const makeLanesByKey = <Key>(name: string, numbers: LaneNumbers): Effect.Effect<(key: Key) => Lane> => {
  const gauges = gaugesOf(name)
  const lanes = new Map<Key, { readonly lane: Lane; users: number }>()

  const enter = (key: Key) => {
    const entered = lanes.get(key) ?? { lane: laneBy(numbers, gauges, undefined), users: 0 }
    entered.users += 1
    lanes.set(key, entered)
    return entered
  }

  const ofKey = (key: Key): Lane => (work) =>
    Effect.acquireUseRelease(
      Effect.sync(() => enter(key)),
      ({ lane }) => lane(work),
      (entered) =>
        Effect.sync(() => {
          entered.users -= 1
          if (entered.users === 0) lanes.delete(key)
        })
    )
  return Effect.as(atZero(Object.values(gauges)), ofKey)
}
