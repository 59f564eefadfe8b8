import * as Errors from "../../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../../schema/MediaTypes.ts"
import { REASONS } from "../../../schema/Reasons.ts"

const details = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736" }

const impact = {
  action: "route.delete",
  resource: "route",
  id: 12,
  summary: "\"Around Vaduz\" will be deleted for everyone."
}

const errors = (): ReadonlyArray<Errors.ServiceError> => [
  Errors.ValidationFailed.at("name", "Missing key"),
  new Errors.Unauthorized({ message: "Sign in first" }),
  new Errors.Forbidden({ message: "Insufficient scope: expected a token with scope \"write\"" }),
  new Errors.NotFound({ message: "No such resource" }),
  new Errors.MethodNotAllowed({
    message: "Expected one of the methods GET, HEAD",
    details: { allowed: ["GET", "HEAD"] }
  }),
  new Errors.RequestTimeout({ message: "The body did not arrive in time" }),
  new Errors.Conflict({ message: "This handle is taken" }),
  new Errors.Gone({
    message: "The cursor is expired: start again without one",
    details: { reason: REASONS.cursorExpired }
  }),
  new Errors.PayloadTooLarge({ message: "The body may have at most 65536 bytes", details: { limitBytes: 65_536 } }),
  new Errors.UnsupportedMediaType({ message: `Send the body as ${MEDIA_TYPES.json} in UTF-8` }),
  new Errors.ExpectationFailed({ message: "Expect: only \"100-continue\" is implemented" }),
  new Errors.PreconditionRequired({
    message: "Send X-Service-Confirm: true to confirm",
    details: { impact }
  }),
  new Errors.RateLimited({
    message: "At most 60 requests a minute: try again in 42 s",
    details: { limit: 60, windowSeconds: 60, retryAfterSeconds: 42 }
  }),
  new Errors.HeadersTooLarge({
    message: "The request line and headers may have at most 16384 bytes",
    details: { limitBytes: 16_384 }
  }),
  new Errors.Internal({ message: "Internal error", details }),
  new Errors.NotImplemented({ message: "Transfer-Encoding: only \"chunked\" is implemented", details }),
  new Errors.BadGateway({ message: "The routing engine sent an unusable response", details }),
  new Errors.Unavailable({ message: "The database is not reachable", details }),
  new Errors.GatewayTimeout({ message: "The routing engine did not respond in time", details })
]

const bodyOf = ({ code, details, message, statusCode }: Errors.ServiceError) => ({
  statusCode,
  code,
  message,
  ...(details === undefined ? {} : { details })
})

/** By name of the class. Made when the document is: a start does not wait for it. */
export const errorExamples = (): Readonly<Record<string, ReturnType<typeof bodyOf>>> =>
  Object.fromEntries(errors().map((error) => [error._tag, bodyOf(error)]))
