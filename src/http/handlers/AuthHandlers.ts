import { Effect, Option } from "effect"
import { HttpEffect, HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../../services/Accounts.ts"
import { type Device, Sessions } from "../../services/Sessions.ts"
import { Api } from "../api/Api.ts"
import { success } from "../api/Success.ts"
import { credentialOf } from "../Credential.ts"
import { clearSessionCookie, setSessionCookie } from "../SessionCookie.ts"

const deviceOf = (request: HttpServerRequest.HttpServerRequest): Device => ({
  userAgent: request.headers["user-agent"],
  ipAddress: Option.getOrUndefined(request.remoteAddress)
})

const answerWith = (change: ReturnType<typeof setSessionCookie>) =>
  HttpEffect.appendPreResponseHandler((_request, response) => Effect.succeed(change(response)))

export const AuthHandlers = HttpApiBuilder.group(
  Api,
  "auth",
  Effect.fn(function*(handlers) {
    const accounts = yield* Accounts
    const sessions = yield* Sessions

    // A browser that signs in again, or as somebody else, leaves no session behind (OWASP ASVS 7.2.4).
    const endPrevious = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const token = credentialOf(request)
      if (token !== undefined) yield* sessions.end(token)
    })

    return handlers.handleAll({
      signUp: ({ payload }) => Effect.as(accounts.signUp({ ...payload, name: payload.name ?? undefined }), success),
      verifyEmail: Effect.fnUntraced(function*({ payload, request }) {
        const signIn = yield* accounts.verifyEmail(payload.token, deviceOf(request))
        yield* endPrevious(request)
        yield* answerWith(setSessionCookie(signIn.accessToken))
        return signIn
      }),
      logIn: Effect.fnUntraced(function*({ payload, request }) {
        const signIn = yield* accounts.logIn(payload, deviceOf(request))
        yield* endPrevious(request)
        yield* answerWith(setSessionCookie(signIn.accessToken))
        return signIn
      }),
      logOut: Effect.fnUntraced(function*({ request }) {
        yield* endPrevious(request)
        yield* answerWith(clearSessionCookie)
        return success
      })
    })
  })
)
