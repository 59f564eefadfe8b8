import { Context, Effect } from "effect"

export interface RequestCounter {
  readonly add: (change: 1 | -1) => void
  /** A busy process refuses another request while this is true. */
  readonly areMany: () => boolean
}

/** Counts the request that the fiber works on; the gate sets it. */
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
