import { Context, Effect } from "effect"

/** Counts requests that this process works on, as its server does. */
export interface RequestCounter {
  readonly add: (change: 1 | -1) => void
}

/** The counter of the server that has the current request; without one nothing is counted. */
export const RunningRequests = Context.Reference<RequestCounter>("route-planning-service/RunningRequests", {
  defaultValue: () => UNCOUNTED
})

const UNCOUNTED: RequestCounter = { add: () => undefined }

/**
 * Does not count the current request while it waits for others: a body that arrives, a thread, another service. Waits for
 * the database do count, since they are short unless there are too many.
 */
export const waitingForOthers = <A, E, R>(wait: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(RunningRequests, ({ add }) =>
    Effect.acquireUseRelease(
      Effect.sync(() => add(-1)),
      // A wait within it is not counted a second time.
      () => Effect.provideService(wait, RunningRequests, UNCOUNTED),
      () => Effect.sync(() => add(1))
    ))
