import { Context, Duration, Schema } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import {
  Forbidden,
  Internal,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  RequestTimeout,
  Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { GeometryForm } from "../../schema/Geometry.ts"
import { IDEMPOTENCY_RETENTION, inWords } from "../../schema/Limits.ts"
import { HEADERS } from "./Headers.ts"

const KIB = 1024

/** The most bytes that an endpoint's body may have. Declared on the endpoint where it is more than the usual 64 KiB. */
export const BodyLimit = Context.Reference<number>("route-planning-service/BodyLimit", {
  defaultValue: () => 64 * KIB
})

/** 8 MiB: a route of 100,000 positions, with room to spare. */
export const ROUTE_BODY_LIMIT = 8 * KIB * KIB

/** By which a script confirms a destructive call: exactly `true`. Sessions need not. */
export const ConfirmHeader = {
  [HEADERS.confirm.key]: Schema.optionalKey(
    Schema.String.annotate({ description: "`true` confirms what a personal access token must confirm" })
  )
}

/** By which a client says which version it changes: a stale one is refused, so that two devices never overwrite each other. */
export const MatchHeader = {
  [HEADERS.ifMatch.key]: Schema.optionalKey(
    Schema.String.annotate({ description: "The `ETag` to be changed; 409 if it is stale" })
  )
}

/** By which a client says which answer it has: it is spared another of the same. */
export const NoneMatchHeader = {
  [HEADERS.ifNoneMatch.key]: Schema.optionalKey(
    Schema.String.annotate({ description: "The `ETag` one has; 304 if it is still so" })
  )
}

const IDEMPOTENCY_KEY = /^[!-~]{1,255}$/

/** By which a client repeats a call without its being done twice. */
export const IdempotencyHeader = {
  [HEADERS.idempotencyKey.key]: Schema.optionalKey(
    Schema.String.check(Schema.makeFilter(
      (key) => IDEMPOTENCY_KEY.test(key) || "Expected 1 to 255 visible ASCII characters",
      { toJsonSchema: () => ({ pattern: IDEMPOTENCY_KEY.source }) }
    ))
      .annotate({
        description:
          `1 to 255 visible ASCII characters. Within ${
            inWords(IDEMPOTENCY_RETENTION)
          } the same call with the same bytes `
          + "gets the first response; it waits for the first for up to 5 seconds, then it is 409"
      })
  )
}

/** How much of a route's line an answer has. */
export const FormQuery = { geometry: Schema.optionalKey(GeometryForm) }

export type LongBodyKind = "newRoute" | "routePatch" | "trace"

/** The endpoints whose bodies may be long: those are read in a thread, so that they do not block the event loop. */
export const LongBodies = Context.Reference<LongBodyKind | undefined>("route-planning-service/LongBodies", {
  defaultValue: () => undefined
})

/** 2 MiB: a trace of 50,000 points. */
export const TRACE_BODY_LIMIT = 2 * KIB * KIB

/** 512 MiB: the archive of some 10,000 routes of 1,000 positions, twice over. */
export const ARCHIVE_BODY_LIMIT = 512 * KIB * KIB

/** Every endpoint can fail so: a request that does not fit its schema, our own fault, the database away. */
export class CommonFailures extends HttpApiMiddleware.Service<CommonFailures>()(
  "route-planning-service/CommonFailures",
  { error: [ValidationFailed, NotFound, Internal, Unavailable] }
) {}

/** Within how long an endpoint's answer must begin. Declared on the endpoint where it is more than the usual 10 seconds. */
export const AnswerWithin = Context.Reference<Duration.Duration>("route-planning-service/AnswerWithin", {
  defaultValue: () => Duration.seconds(10)
})

/** An answer that is not begun within the endpoint's `AnswerWithin` is given up. */
export class Deadline extends HttpApiMiddleware.Service<Deadline>()(
  "route-planning-service/Deadline",
  { error: Unavailable }
) {}

/** Faults name the trace of their request. It comes last, to see those of all other middleware. */
export class TracedFaults extends HttpApiMiddleware.Service<TracedFaults>()("route-planning-service/TracedFaults") {}

/** A body must be declared as JSON, be well-formed UTF-8, and fit the endpoint's `BodyLimit`. */
export class JsonBody extends HttpApiMiddleware.Service<JsonBody>()(
  "route-planning-service/JsonBody",
  { error: [ValidationFailed, RequestTimeout, PayloadTooLarge, RateLimited, UnsupportedMediaType, Unavailable] }
) {}

/** Refuses what another site makes a browser send (OWASP CSRF Prevention Cheat Sheet, Fetch Metadata). */
export class SameSite extends HttpApiMiddleware.Service<SameSite>()(
  "route-planning-service/SameSite",
  { error: Forbidden }
) {}
