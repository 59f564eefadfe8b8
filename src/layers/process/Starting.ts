import { Context, Effect, Option, Schema } from "effect"
import type { GatedServer } from "../Overload.ts"

/** What a worker sends before it listens without serving: its responses are that it is not ready. */
export const NotServing = Schema.TaggedStruct("NotServing", {})

/** What it sends when it serves after that. */
export const Serving = Schema.TaggedStruct("Serving", {})

/** A server that listens already. */
export interface Waiting {
  readonly server: GatedServer
  /** Stops responding to its requests. To be called when the service listens for them, so that each gets a response. */
  readonly release: () => void
}

/** Responds in place of the service for as long as the start waits for something. */
export const Starting = Context.Reference<{
  /** Listens: `/health/live` is 200 and everything else 503. */
  readonly begin: Effect.Effect<void>
  /** The server that listens since then, which the service takes over with its connections. */
  readonly waiting: Effect.Effect<Option.Option<Waiting>>
}>("route-planning-service/Starting", {
  defaultValue: () => ({ begin: Effect.void, waiting: Effect.succeedNone })
})
