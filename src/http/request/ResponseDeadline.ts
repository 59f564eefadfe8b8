import { Context, Effect } from "effect"

/** The timeout of the response. `pause` suspends it while the request waits for its client, `begin` restarts it. */
export const ResponseDeadline = Context.Reference<{
  readonly pause: Effect.Effect<void>
  readonly begin: Effect.Effect<void>
}>("route-planning-service/ResponseDeadline", { defaultValue: () => ({ pause: Effect.void, begin: Effect.void }) })
