import { Context, Duration, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { BODY_ALLOWANCE } from "../../schema/Limits.ts"

/** The timeout of a body: `grace` plus its bytes at the minimum rate. */
export const BodyAllowance = Context.Reference<{ readonly grace: Duration.Duration; readonly bytesPerSecond: number }>(
  "route-planning-service/BodyAllowance",
  { defaultValue: () => BODY_ALLOWANCE }
)

/** Bytes received so far; 0 without a socket. */
export const ArrivedBytes = Context.Reference<(request: HttpServerRequest.HttpServerRequest) => number>(
  "route-planning-service/ArrivedBytes",
  { defaultValue: () => () => 0 }
)

/** `awaitBody` replaces the deadline by the `BodyAllowance`, `pause` suspends it; `begin` restarts it. */
export const ResponseDeadline = Context.Reference<{
  readonly awaitBody: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<void>
  readonly pause: Effect.Effect<void>
  readonly begin: Effect.Effect<void>
}>("route-planning-service/ResponseDeadline", {
  defaultValue: () => ({ awaitBody: () => Effect.void, pause: Effect.void, begin: Effect.void })
})
