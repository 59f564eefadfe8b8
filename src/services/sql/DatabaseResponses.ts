import { Context, Effect } from "effect"

/** How many times the database has responded to this process, also while statements wait for a connection. */
export const DatabaseResponses = Context.Reference<Effect.Effect<number>>("route-planning-service/DatabaseResponses", {
  defaultValue: () => Effect.succeed(0)
})
