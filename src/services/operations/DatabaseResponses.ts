import { Context, Effect } from "effect"

/** How many times the database has responded to this process, whoever waits for a connection meanwhile. */
export const DatabaseResponses = Context.Reference<Effect.Effect<number>>("route-planning-service/DatabaseResponses", {
  defaultValue: () => Effect.succeed(0)
})
