import { Context, Effect } from "effect"

/** Responses of the database to this process, counted also while statements wait for a connection. */
export const DatabaseResponses = Context.Reference<Effect.Effect<number>>("route-planning-service/DatabaseResponses", {
  defaultValue: () => Effect.succeed(0)
})
