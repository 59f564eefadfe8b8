import { Context, Effect, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"

/** Runs an effect when the response has left memory; by default, when the request ends. */
export const WhenResponseSent = Context.Reference<
  (request: HttpServerRequest.HttpServerRequest, run: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
>("route-planning-service/WhenResponseSent", { defaultValue: () => (_request, run) => Effect.addFinalizer(() => run) })
