import { Context, Duration, Schema } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  Forbidden,
  Internal,
  PayloadTooLarge,
  RateLimited,
  RequestTimeout,
  Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { GeometryForm } from "../../schema/Geometry.ts"
import { EntityTags } from "../../schema/Http.ts"
import { IDEMPOTENCY_RETENTION, IDEMPOTENCY_WAIT, inWords } from "../../schema/Limits.ts"
import { knownQuery } from "../../schema/Page.ts"
import { HEADERS } from "./Headers.ts"

const KIB = 1024

/** A body has at most so many bytes. */
export const BodyLimit = Context.Reference<number>("route-planning-service/BodyLimit", {
  defaultValue: () => 64 * KIB
})

/** A route of 100,000 positions fits. */
export const ROUTE_BODY_LIMIT = 8 * KIB * KIB

/** Only personal access tokens need this header. */
export const ConfirmHeader = {
  [HEADERS.confirm.key]: Schema.optionalKey(
    Schema.String.annotate({ description: "`true` confirms what a personal access token must confirm" })
  )
}

/** Prevents two devices from overwriting each other's changes. */
export const MatchHeader = {
  [HEADERS.ifMatch.key]: Schema.optionalKey(
    EntityTags.annotate({ description: "The `ETag` to be changed; 409 if it is stale" })
  )
}

export const IF_NONE_MATCH_WORDS = "The `ETag` one has; 304 if it is still so"

export const NoneMatchHeader = {
  [HEADERS.ifNoneMatch.key]: Schema.optionalKey(Schema.String.annotate({ description: IF_NONE_MATCH_WORDS }))
}

const MAX_KEY = 255
const IDEMPOTENCY_KEY = new RegExp(`^[!-~]{1,${MAX_KEY}}$`)
const KEY_RULE = `1 to ${MAX_KEY} visible ASCII characters`

export const IdempotencyHeader = {
  [HEADERS.idempotencyKey.key]: Schema.optionalKey(
    Schema.String.check(Schema.makeFilter(
      (key) => IDEMPOTENCY_KEY.test(key) || `Expected ${KEY_RULE}`,
      { toJsonSchema: () => ({ pattern: IDEMPOTENCY_KEY.source }) }
    ))
      .annotate({
        description: `${KEY_RULE}. Within ${inWords(IDEMPOTENCY_RETENTION)} the same call with the same bytes `
          + `gets the first response; it waits for the first for up to ${inWords(IDEMPOTENCY_WAIT)}, then it is 409. `
          + "When a route or collection that it shows is erased, so is the response, and the call has its effect again"
      })
  )
}

export const FormFields = { geometry: Schema.optionalKey(GeometryForm) }

export const FormQuery = knownQuery(FormFields)

export type LongBodyKind = "line" | "newRoute" | "routeBatch" | "routePatch" | "trace"

/** Long bodies are read in a thread, since they would block the event loop. */
export const LongBodies = Context.Reference<LongBodyKind | undefined>("route-planning-service/LongBodies", {
  defaultValue: () => undefined
})

/** A trace of 50,000 positions fits. */
export const TRACE_BODY_LIMIT = 2 * KIB * KIB

/**
 * Every endpoint has these errors: schema mismatch, uncaught exception, unreachable database. An endpoint declares
 * `NotFound` itself, or its handler cannot fail with it.
 */
export class CommonFailures extends HttpApiMiddleware.Service<CommonFailures>()(
  "route-planning-service/CommonFailures",
  { error: [ValidationFailed, Internal, Unavailable] }
) {}

/** The default is above the timeouts of statements and locks, and below those of clients. */
export const ResponseWithin = Context.Reference<Duration.Duration>("route-planning-service/ResponseWithin", {
  defaultValue: () => Duration.seconds(10)
})

/** Fails if the response does not begin within `ResponseWithin`. */
export class Deadline extends HttpApiMiddleware.Service<Deadline>()(
  "route-planning-service/Deadline",
  { error: Unavailable }
) {}

/** Such an endpoint stores nothing although its method is not safe, so its response may be refused after its work. */
export const StoresNothing = Context.Reference<boolean>("route-planning-service/StoresNothing", {
  defaultValue: () => false
})

/** Adds the trace id to 5xx errors. Comes last, to see those of other middleware. */
export class TracedFaults extends HttpApiMiddleware.Service<TracedFaults>()("route-planning-service/TracedFaults") {}

/** Refuses every parameter where the endpoint has no query. It comes first: all others refuse before it. */
export class NoParameters extends HttpApiMiddleware.Service<NoParameters>()(
  "route-planning-service/NoParameters",
  { error: ValidationFailed }
) {}

/** Requires JSON in valid UTF-8 within `BodyLimit`. */
export class JsonBody extends HttpApiMiddleware.Service<JsonBody>()(
  "route-planning-service/JsonBody",
  { error: [ValidationFailed, RequestTimeout, PayloadTooLarge, RateLimited, UnsupportedMediaType, Unavailable] }
) {}

/** Refuses cross-site requests (OWASP CSRF Prevention Cheat Sheet, Fetch Metadata). */
export class SameSite extends HttpApiMiddleware.Service<SameSite>()(
  "route-planning-service/SameSite",
  { error: Forbidden }
) {}
