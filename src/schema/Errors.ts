import { Duration, Schema } from "effect"
import { ErrorDetails } from "./ErrorDetails.ts"

/** One reason why a request was refused: a dotted path into it, and what was expected there. */
export interface ValidationIssue {
  readonly path: string
  readonly message: string
}

/** The one shape of every response that is neither 2xx nor 3xx, and the status and meaning for the API document. */
const publicError = <const Status extends number, const Code extends string>(
  statusCode: Status,
  code: Code,
  description: string
) =>
  [{
    statusCode: Schema.tag(statusCode),
    code: Schema.tag(code),
    message: Schema.String,
    details: Schema.optionalKey(ErrorDetails)
  }, { httpApiStatus: statusCode, description }] as const

/**
 * A body, a query or a header that its schema refuses; `details.issues` lists the reasons, not only the first: all of them
 * up to 100. What is too long, too deep or has too many values to be decoded has that one reason.
 */
export class ValidationFailed extends Schema.Error<ValidationFailed>("ValidationFailed")(
  ...publicError(
    400,
    "VALIDATION_FAILED",
    "The request does not fit its schema; `details.issues` lists the reasons, at most 100 of them"
  )
) {
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
export class RequestTimeout extends Schema.Error<RequestTimeout>("RequestTimeout")(
  ...publicError(408, "VALIDATION_FAILED", "The request did not arrive in time; the connection is closed")
) {
  readonly _tag = "RequestTimeout"
}

/** An `Expect` header that names anything but `100-continue` (RFC 9110, 15.5.18). */
export class ExpectationFailed extends Schema.Error<ExpectationFailed>("ExpectationFailed")(
  ...publicError(417, "VALIDATION_FAILED", "The `Expect` header names something else than `100-continue`")
) {
  readonly _tag = "ExpectationFailed"
}

/** A request line and headers over their common limit, `details.limitBytes` (RFC 6585, 5). */
export class HeadersTooLarge extends Schema.Error<HeadersTooLarge>("HeadersTooLarge")(
  ...publicError(431, "VALIDATION_FAILED", "The request line and headers are over their limit, `details.limitBytes`")
) {
  readonly _tag = "HeadersTooLarge"
}

export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(
  ...publicError(413, "VALIDATION_FAILED", "The body is over its limit, `details.limitBytes`")
) {
  readonly _tag = "PayloadTooLarge"
}

export class UnsupportedMediaType extends Schema.Error<UnsupportedMediaType>("UnsupportedMediaType")(
  ...publicError(415, "VALIDATION_FAILED", "The content type or content encoding is not accepted")
) {
  readonly _tag = "UnsupportedMediaType"
}

export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(
  ...publicError(401, "UNAUTHORIZED", "No credential, or one that is expired, revoked or invalid")
) {
  readonly _tag = "Unauthorized"
}

/** A known caller who may not do this: wrong kind, role or scope, a cross-site request, an unverified email. */
export class Forbidden extends Schema.Error<Forbidden>("Forbidden")(
  ...publicError(
    403,
    "FORBIDDEN",
    "Known, and not allowed: wrong kind, role or scope, a cross-site request, an account pending deletion"
  )
) {
  readonly _tag = "Forbidden"
}

export class NotFound extends Schema.Error<NotFound>("NotFound")(
  ...publicError(404, "NOT_FOUND", "Nothing there, or nothing that the caller may see")
) {
  readonly _tag = "NotFound"
}

/** A known path with a method that it does not have; the answer's `Allow` header names those it has (RFC 9110, 15.5.6). */
export class MethodNotAllowed extends Schema.Error<MethodNotAllowed>("MethodNotAllowed")(
  ...publicError(405, "NOT_FOUND", "The path does not have this method; `Allow` names those it has")
) {
  readonly _tag = "MethodNotAllowed"
}

export class Conflict extends Schema.Error<Conflict>("Conflict")(
  ...publicError(
    409,
    "CONFLICT",
    "The request is fine, the state it meets is not. Over a quota of the account `details` has `quota`, `limit` " +
      "and `used`"
  )
) {
  readonly _tag = "Conflict"
}

/**
 * A destructive call by a script that did not confirm it; `details.impact` says what would happen (RFC 6585, 3). The same
 * request with `X-Service-Confirm: true` does it.
 */
export class PreconditionRequired extends Schema.Error<PreconditionRequired>("PreconditionRequired")(
  ...publicError(
    428,
    "PRECONDITION_REQUIRED",
    "Send `X-Service-Confirm: true` to do this; `details.impact` says what it would do"
  )
) {
  readonly _tag = "PreconditionRequired"
}

/** Too many requests of one caller; `details.retryAfterSeconds` says when the next one may come (RFC 6585, 4). */
export class RateLimited extends Schema.Error<RateLimited>("RateLimited")(
  ...publicError(429, "RATE_LIMITED", "Too many requests; `Retry-After` says when the next one may come")
) {
  readonly _tag = "RateLimited"
}

/** Our own fault. Says nothing about it but `details.traceId`, by which an operator finds the rest. */
export class Internal extends Schema.Error<Internal>("Internal")(
  ...publicError(500, "INTERNAL", "Our own fault; an operator finds the rest by `details.traceId`")
) {
  readonly _tag = "Internal"
}

/** A transfer coding other than `chunked` (RFC 9112, 6.1). */
export class NotImplemented extends Schema.Error<NotImplemented>("NotImplemented")(
  ...publicError(501, "INTERNAL", "The transfer coding is not implemented")
) {
  readonly _tag = "NotImplemented"
}

export class BadGateway extends Schema.Error<BadGateway>("BadGateway")(
  ...publicError(502, "INTERNAL", "A service behind this one answered something unusable")
) {
  readonly _tag = "BadGateway"
}

/**
 * A part that the response needs is away or too busy for now; trying again later is right. `details.retryAfterSeconds`, if
 * known, says when, and the response has it in `Retry-After` (RFC 9110, 10.2.3).
 */
export class Unavailable extends Schema.Error<Unavailable>("Unavailable")(
  ...publicError(
    503,
    "INTERNAL",
    "A part that the answer needs is away or too busy for now; `Retry-After`, if sent, says when to try again"
  )
) {
  readonly _tag = "Unavailable"

  static retryAfter(message: string, wait: Duration.Duration): Unavailable {
    return new Unavailable({ message, details: { retryAfterSeconds: Math.ceil(Duration.toSeconds(wait)) } })
  }
}

export class GatewayTimeout extends Schema.Error<GatewayTimeout>("GatewayTimeout")(
  ...publicError(504, "INTERNAL", "A service behind this one did not answer in time")
) {
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
