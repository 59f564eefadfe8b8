import { Context, type Duration, Effect, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"

/**
 * Runs an effect when the response has left memory, and ends a response that its client does not take within the duration. By
 * default it runs the effect when the request ends.
 */
export const WhenResponseSent = Context.Reference<
  (
    request: HttpServerRequest.HttpServerRequest,
    within: Duration.Duration,
    run: Effect.Effect<void>
  ) => Effect.Effect<void, never, Scope.Scope>
>("route-planning-service/WhenResponseSent", {
  defaultValue: () => (_request, _within, run) => Effect.addFinalizer(() => run)
})
