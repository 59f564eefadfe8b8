import { Context, Effect } from "effect"

export interface RequestCounter {
  readonly add: (change: 1 | -1) => void
  /** Whether so many run that a saturated process refuses more. */
  readonly areMany: () => boolean
}

/** What counts this request. Set for each one: what a layer provides would take its place in handlers. */
export const RunningRequests = Context.Reference<RequestCounter>("route-planning-service/RunningRequests", {
  defaultValue: () => UNCOUNTED
})

/** Of the process; writes count among all requests too. */
export const RequestCounters = Context.Reference<{
  readonly all: RequestCounter
  readonly writes: RequestCounter
}>("route-planning-service/RequestCounters", {
  defaultValue: () => ({ all: UNCOUNTED, writes: UNCOUNTED })
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
