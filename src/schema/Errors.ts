import { Duration, Schema } from "effect"
import { ErrorDetails } from "./ErrorDetails.ts"

/** One reason why a request was refused: a dotted path into it, and what was expected there. */
export interface ValidationIssue {
  readonly path: string
  readonly message: string
}

/** The one shape of every answer that is not 2xx or 3xx. */
const shape = <const Status extends number, const Code extends string>(statusCode: Status, code: Code) => ({
  statusCode: Schema.tag(statusCode),
  code: Schema.tag(code),
  message: Schema.String,
  details: Schema.optionalKey(ErrorDetails)
})

/**
 * A body, a query or a header that its schema refuses; `details.issues` lists the reasons, not only the first: all of them
 * up to 100. What is too long, too deep or has too many values to be decoded has that one reason.
 */
export class ValidationFailed
  extends Schema.Error<ValidationFailed>("ValidationFailed")(shape(400, "VALIDATION_FAILED"), {
    httpApiStatus: 400,
    description: "The request does not fit its schema; `details.issues` lists the reasons, at most 100 of them"
  })
{
  readonly _tag = "ValidationFailed"

  static at(path: string, message: string): ValidationFailed {
    return ValidationFailed.of([{ path, message }])
  }

  static of(issues: ReadonlyArray<ValidationIssue>): ValidationFailed {
    return new ValidationFailed({
      message: issues.slice(0, 3).map(({ message, path }) => path === "" ? message : `${path}: ${message}`).join("; "),
      details: { issues: issues.map(({ message, path }) => ({ path, message })) }
    })
  }
}

/** A request that did not arrive in time (RFC 9110, 15.5.9). */
export class RequestTimeout extends Schema.Error<RequestTimeout>("RequestTimeout")(shape(408, "VALIDATION_FAILED"), {
  httpApiStatus: 408,
  description: "The request did not arrive in time; the connection is closed"
}) {
  readonly _tag = "RequestTimeout"
}

/** An `Expect` header that names anything but `100-continue` (RFC 9110, 15.5.18). */
export class ExpectationFailed
  extends Schema.Error<ExpectationFailed>("ExpectationFailed")(shape(417, "VALIDATION_FAILED"), {
    httpApiStatus: 417,
    description: "The `Expect` header names something else than `100-continue`"
  })
{
  readonly _tag = "ExpectationFailed"
}

/** A request line and headers over their common limit, `details.limitBytes` (RFC 6585, 5). */
export class HeadersTooLarge extends Schema.Error<HeadersTooLarge>("HeadersTooLarge")(shape(431, "VALIDATION_FAILED"), {
  httpApiStatus: 431,
  description: "The request line and headers are over their limit, `details.limitBytes`"
}) {
  readonly _tag = "HeadersTooLarge"
}

/** A body over the limit of its endpoint; `details.limitBytes` is that limit. */
export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(shape(413, "VALIDATION_FAILED"), {
  httpApiStatus: 413,
  description: "The body is over its limit, `details.limitBytes`"
}) {
  readonly _tag = "PayloadTooLarge"
}

/** A body whose content type or content encoding the endpoint does not accept. */
export class UnsupportedMediaType
  extends Schema.Error<UnsupportedMediaType>("UnsupportedMediaType")(shape(415, "VALIDATION_FAILED"), {
    httpApiStatus: 415,
    description: "The content type or content encoding is not accepted"
  })
{
  readonly _tag = "UnsupportedMediaType"
}

/** No credential, or one that is expired, revoked or invalid. */
export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(shape(401, "UNAUTHORIZED"), {
  httpApiStatus: 401,
  description: "No credential, or one that is expired, revoked or invalid"
}) {
  readonly _tag = "Unauthorized"
}

/** A known caller who may not do this: wrong kind, role or scope, a cross-site request, an unverified email. */
export class Forbidden extends Schema.Error<Forbidden>("Forbidden")(shape(403, "FORBIDDEN"), {
  httpApiStatus: 403,
  description: "Known, and not allowed: wrong kind, role or scope, a cross-site request, an account pending deletion"
}) {
  readonly _tag = "Forbidden"
}

/** Nothing there, or nothing that the caller may see: the two are told apart by nobody. */
export class NotFound extends Schema.Error<NotFound>("NotFound")(shape(404, "NOT_FOUND"), {
  httpApiStatus: 404,
  description: "Nothing there, or nothing that the caller may see"
}) {
  readonly _tag = "NotFound"
}

/** A known path with a method that it does not have; the answer's `Allow` header names those it has (RFC 9110, 15.5.6). */
export class MethodNotAllowed extends Schema.Error<MethodNotAllowed>("MethodNotAllowed")(shape(405, "NOT_FOUND"), {
  httpApiStatus: 405,
  description: "The path does not have this method; `Allow` names those it has"
}) {
  readonly _tag = "MethodNotAllowed"
}

/** The request is fine, the state it meets is not: a name is taken, a quota is full. */
export class Conflict extends Schema.Error<Conflict>("Conflict")(shape(409, "CONFLICT"), {
  httpApiStatus: 409,
  description:
    "The request is fine, the state it meets is not. Over a quota of the account `details` has `quota`, `limit` "
    + "and `used`"
}) {
  readonly _tag = "Conflict"
}

/**
 * A destructive call by a script that did not confirm it; `details.impact` says what would happen (RFC 6585, 3). The same
 * request with `X-Service-Confirm: true` does it.
 */
export class PreconditionRequired
  extends Schema.Error<PreconditionRequired>("PreconditionRequired")(shape(428, "PRECONDITION_REQUIRED"), {
    httpApiStatus: 428,
    description: "Send `X-Service-Confirm: true` to do this; `details.impact` says what it would do"
  })
{
  readonly _tag = "PreconditionRequired"
}

/** Too many requests of one caller; `details.retryAfterSeconds` says when the next one may come (RFC 6585, 4). */
export class RateLimited extends Schema.Error<RateLimited>("RateLimited")(shape(429, "RATE_LIMITED"), {
  httpApiStatus: 429,
  description: "Too many requests; `Retry-After` says when the next one may come"
}) {
  readonly _tag = "RateLimited"
}

/** Our own fault. Says nothing about it but `details.traceId`, by which an operator finds the rest. */
export class Internal extends Schema.Error<Internal>("Internal")(shape(500, "INTERNAL"), {
  httpApiStatus: 500,
  description: "Our own fault; an operator finds the rest by `details.traceId`"
}) {
  readonly _tag = "Internal"
}

/** A transfer coding other than `chunked` (RFC 9112, 6.1). */
export class NotImplemented extends Schema.Error<NotImplemented>("NotImplemented")(shape(501, "INTERNAL"), {
  httpApiStatus: 501,
  description: "The transfer coding is not implemented"
}) {
  readonly _tag = "NotImplemented"
}

/** A service that we depend on answered something that we cannot use. */
export class BadGateway extends Schema.Error<BadGateway>("BadGateway")(shape(502, "INTERNAL"), {
  httpApiStatus: 502,
  description: "A service behind this one answered something unusable"
}) {
  readonly _tag = "BadGateway"
}

/**
 * A part that the response needs is away or too busy for now; trying again later is right. `details.retryAfterSeconds`, if
 * known, says when, and the response has it in `Retry-After` (RFC 9110, 10.2.3).
 */
export class Unavailable extends Schema.Error<Unavailable>("Unavailable")(shape(503, "INTERNAL"), {
  httpApiStatus: 503,
  description:
    "A part that the answer needs is away or too busy for now; `Retry-After`, if sent, says when to try again"
}) {
  readonly _tag = "Unavailable"

  static retryAfter(message: string, wait: Duration.Duration): Unavailable {
    return new Unavailable({ message, details: { retryAfterSeconds: Math.ceil(Duration.toSeconds(wait)) } })
  }
}

/** A service that we depend on did not answer in time. */
export class GatewayTimeout extends Schema.Error<GatewayTimeout>("GatewayTimeout")(shape(504, "INTERNAL"), {
  httpApiStatus: 504,
  description: "A service behind this one did not answer in time"
}) {
  readonly _tag = "GatewayTimeout"
}

/** Every error that may leave the service. */
export const ServiceError = Schema.Union([
  ValidationFailed,
  PayloadTooLarge,
  UnsupportedMediaType,
  Unauthorized,
  Forbidden,
  NotFound,
  MethodNotAllowed,
  RequestTimeout,
  Conflict,
  ExpectationFailed,
  PreconditionRequired,
  RateLimited,
  HeadersTooLarge,
  Internal,
  NotImplemented,
  BadGateway,
  Unavailable,
  GatewayTimeout
])
export type ServiceError = typeof ServiceError.Type
