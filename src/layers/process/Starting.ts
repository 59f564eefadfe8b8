import { Context, Effect, Option, Schema } from "effect"
import type { Server } from "node:http"

export const NotServing = Schema.TaggedStruct("NotServing", {})

export const Serving = Schema.TaggedStruct("Serving", {})

export interface Waiting {
  readonly server: Server
  /** Stops responding. Call it when the service listens for requests, so that each gets a response. */
  readonly release: () => void
}

export const Starting = Context.Reference<{
  readonly begin: Effect.Effect<void>
  readonly waiting: Effect.Effect<Option.Option<Waiting>>
}>("route-planning-service/Starting", {
  defaultValue: () => ({ begin: Effect.void, waiting: Effect.succeedNone })
})
