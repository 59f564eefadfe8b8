import { Duration, Schema } from "effect"
import { ErrorDetails, ReasonedDetails } from "./ErrorDetails.ts"
import { inPart, MAX_ISSUES, type RequestPart, summaryOf, type ValidationIssue } from "./Issues.ts"
import { wholeSeconds } from "./Limits.ts"

const errorWith = <const Status extends number, const Code extends string, Details extends Schema.Top>(
  details: Details,
  statusCode: Status,
  code: Code,
  description: string
) =>
  [{
    statusCode: Schema.tag(statusCode),
    code: Schema.tag(code),
    message: Schema.String,
    details
  }, { httpApiStatus: statusCode, description }] as const

const publicError = <const Status extends number, const Code extends string>(
  statusCode: Status,
  code: Code,
  description: string
) => errorWith(Schema.optionalKey(ErrorDetails), statusCode, code, description)

const reasonedError = <const Status extends keyof typeof ReasonedDetails, const Code extends string>(
  statusCode: Status,
  code: Code,
  description: string
) => errorWith(ReasonedDetails[statusCode], statusCode, code, description)

/** A body that is too long, too deep or has too many values gets this error. */
export class ValidationFailed extends Schema.Error<ValidationFailed>("ValidationFailed")(
  ...publicError(
    400,
    "VALIDATION_FAILED",
    `The request does not match its schema; \`details.issues\` lists what is wrong, at most ${MAX_ISSUES} issues`
  )
) {
  readonly _tag = "ValidationFailed"

  static at(part: RequestPart, path: string, message: string): ValidationFailed {
    return ValidationFailed.of(part, [{ path, message }])
  }

  static of(part: RequestPart, found: ReadonlyArray<ValidationIssue>): ValidationFailed {
    const issues = found.map(inPart(part))
    return new ValidationFailed({ message: summaryOf(issues), details: { issues } })
  }
}

/** See RFC 9110, 15.5.9. */
export class RequestTimeout extends Schema.Error<RequestTimeout>("RequestTimeout")(
  ...publicError(408, "VALIDATION_FAILED", "The request did not arrive in time; the connection is closed")
) {
  readonly _tag = "RequestTimeout"
}

/** See RFC 9110, 15.5.18. */
export class ExpectationFailed extends Schema.Error<ExpectationFailed>("ExpectationFailed")(
  ...publicError(417, "VALIDATION_FAILED", "The `Expect` header has another value than `100-continue`")
) {
  readonly _tag = "ExpectationFailed"
}

/** See RFC 6585, 5. */
export class HeadersTooLarge extends Schema.Error<HeadersTooLarge>("HeadersTooLarge")(
  ...publicError(431, "VALIDATION_FAILED", "The request line and headers exceed `details.limitBytes`")
) {
  readonly _tag = "HeadersTooLarge"
}

export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(
  ...publicError(413, "VALIDATION_FAILED", "The body exceeds `details.limitBytes`")
) {
  readonly _tag = "PayloadTooLarge"
}

export class UnsupportedMediaType extends Schema.Error<UnsupportedMediaType>("UnsupportedMediaType")(
  ...publicError(415, "VALIDATION_FAILED", "The content type or content encoding is not accepted")
) {
  readonly _tag = "UnsupportedMediaType"
}

export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(
  ...reasonedError(401, "UNAUTHORIZED", "No credential, or one that is expired, revoked or invalid")
) {
  readonly _tag = "Unauthorized"
}

export class Forbidden extends Schema.Error<Forbidden>("Forbidden")(
  ...reasonedError(
    403,
    "FORBIDDEN",
    "Authenticated, but not allowed: kind, role, scope, a cross-site request, an account pending deletion"
  )
) {
  readonly _tag = "Forbidden"
}

export class NotFound extends Schema.Error<NotFound>("NotFound")(
  ...publicError(404, "NOT_FOUND", "Does not exist, or the caller may not see it")
) {
  readonly _tag = "NotFound"
}

/** See RFC 9110, 15.5.6. */
export class MethodNotAllowed extends Schema.Error<MethodNotAllowed>("MethodNotAllowed")(
  ...publicError(405, "NOT_FOUND", "The path does not have this method; `Allow` lists those that it has")
) {
  readonly _tag = "MethodNotAllowed"
}

export class Conflict extends Schema.Error<Conflict>("Conflict")(
  ...reasonedError(
    409,
    "CONFLICT",
    "Conflicts with the current state. Over a quota of the account `details` has `quota`, `limit` " +
      "and `used`"
  )
) {
  readonly _tag = "Conflict"
}

/** See RFC 9110, 15.5.11. */
export class Gone extends Schema.Error<Gone>("Gone")(
  ...reasonedError(
    410,
    "NOT_FOUND",
    "The cursor no longer leads on: with `details.reason` `cursor_expired` start again without one"
  )
) {
  readonly _tag = "Gone"
}

/** Destructive calls with a token need a precondition (RFC 6585, 3). */
export class PreconditionRequired extends Schema.Error<PreconditionRequired>("PreconditionRequired")(
  ...publicError(
    428,
    "PRECONDITION_REQUIRED",
    "Send `X-Service-Confirm: true` to confirm the call; `details.impact` describes what it would do"
  )
) {
  readonly _tag = "PreconditionRequired"
}

/** See RFC 6585, 4. */
export class RateLimited extends Schema.Error<RateLimited>("RateLimited")(
  ...reasonedError(429, "RATE_LIMITED", "Too many requests; `Retry-After` says when the next one is accepted")
) {
  readonly _tag = "RateLimited"
}

/** The error reveals nothing of its cause but the trace id. */
export class Internal extends Schema.Error<Internal>("Internal")(
  ...publicError(500, "INTERNAL", "An internal error; an operator finds the cause by `details.traceId`")
) {
  readonly _tag = "Internal"
}

/** See RFC 9112, 6.1. */
export class NotImplemented extends Schema.Error<NotImplemented>("NotImplemented")(
  ...publicError(501, "INTERNAL", "Only the transfer coding `chunked` is implemented")
) {
  readonly _tag = "NotImplemented"
}

export class BadGateway extends Schema.Error<BadGateway>("BadGateway")(
  ...publicError(502, "INTERNAL", "An upstream service sent an unusable response")
) {
  readonly _tag = "BadGateway"
}

/** The response repeats `details.retryAfterSeconds` in `Retry-After` (RFC 9110, 10.2.3). */
export class Unavailable extends Schema.Error<Unavailable>("Unavailable")(
  ...publicError(
    503,
    "INTERNAL",
    "A dependency is unavailable or the service is too busy; `Retry-After`, if sent, says when to retry"
  )
) {
  readonly _tag = "Unavailable"

  static retryAfter(message: string, wait: Duration.Duration): Unavailable {
    return new Unavailable({ message, details: { retryAfterSeconds: wholeSeconds(wait) } })
  }
}

export class GatewayTimeout extends Schema.Error<GatewayTimeout>("GatewayTimeout")(
  ...publicError(504, "INTERNAL", "An upstream service did not respond in time")
) {
  readonly _tag = "GatewayTimeout"
}

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
  Gone,
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
