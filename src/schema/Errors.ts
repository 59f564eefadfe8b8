import { Schema } from "effect"

/** Structured context of an error: validation issues, the impact of a destructive call, a trace id. */
const ErrorDetails = Schema.Record(Schema.String, Schema.Json)

/** One reason why a request was refused: a dotted path into it, and what was expected there. */
export interface ValidationIssue {
  readonly path: string
  readonly message: string
}

/** The one shape of every answer that is not 2xx or 3xx, whoever produced it. */
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
  description: "The request is fine, the state it meets is not"
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

/** A service that we depend on answered something that we cannot use. */
export class BadGateway extends Schema.Error<BadGateway>("BadGateway")(shape(502, "INTERNAL"), {
  httpApiStatus: 502,
  description: "A service behind this one answered something unusable"
}) {
  readonly _tag = "BadGateway"
}

/** A part that the answer needs is away for now; trying again later is right. */
export class Unavailable extends Schema.Error<Unavailable>("Unavailable")(shape(503, "INTERNAL"), {
  httpApiStatus: 503,
  description: "A part that the answer needs is away for now"
}) {
  readonly _tag = "Unavailable"
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
  Conflict,
  PreconditionRequired,
  RateLimited,
  Internal,
  BadGateway,
  Unavailable,
  GatewayTimeout
])
export type ServiceError = typeof ServiceError.Type
