import type { HttpServerRequest } from "effect/http"
import type { Impact } from "../../schema/ErrorDetails.ts"
import { PreconditionRequired } from "../../schema/Errors.ts"
import type { Principal } from "../../schema/User.ts"

/** People confirm before they call; a script says so with `X-Service-Confirm`, and only as exactly `true`. */
export const isConfirmed = (caller: Principal, request: HttpServerRequest.HttpServerRequest): boolean =>
  caller.kind === "session" || request.headers["x-service-confirm"] === "true"

export const unconfirmed = (impact: Impact) =>
  new PreconditionRequired({
    message: "Send X-Service-Confirm: true to do this",
    details: { impact: { ...impact } }
  })
