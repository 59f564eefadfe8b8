import { Context, Duration, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

/** How long a body may take to arrive: this time, and as much more as its bytes need at the lowest rate. */
export const BodyAllowance = Context.Reference<{ readonly grace: Duration.Duration; readonly bytesPerSecond: number }>(
  "route-planning-service/BodyAllowance",
  { defaultValue: () => ({ grace: Duration.seconds(30), bytesPerSecond: 64 * 1024 }) }
)

/** How many bytes of a request have arrived at a server that has it from a socket. */
export const ArrivedBytes = Context.Reference<(request: HttpServerRequest.HttpServerRequest) => number>(
  "route-planning-service/ArrivedBytes",
  { defaultValue: () => () => 0 }
)

/**
 * The deadline of the current response. While the body of the request arrives it stands still, and the body has its
 * `BodyAllowance` instead; what is too slow fails the request. The deadline begins when the body has arrived.
 */
export const ResponseDeadline = Context.Reference<{
  readonly awaitBody: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<void>
  readonly begin: Effect.Effect<void>
}>("route-planning-service/ResponseDeadline", {
  defaultValue: () => ({ awaitBody: () => Effect.void, begin: Effect.void })
})
