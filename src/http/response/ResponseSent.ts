import { Context, Effect, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"

/**
 * Runs an effect once the response to a request is out of the memory of the process: it was handed to the system, or its
 * connection is gone. Where the server cannot say so, that is the end of the request.
 */
export const WhenResponseSent = Context.Reference<
  (request: HttpServerRequest.HttpServerRequest, run: Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
>("route-planning-service/WhenResponseSent", { defaultValue: () => (_request, run) => Effect.addFinalizer(() => run) })
