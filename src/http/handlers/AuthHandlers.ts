import { Effect, Option, Redacted } from "effect"
import { HttpEffect, HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { createHash } from "node:crypto"
import { Accounts, type SignIn } from "../../services/accounts/Accounts.ts"
import { emailKey } from "../../services/accounts/EmailAddresses.ts"
import { Devices } from "../../services/credentials/Devices.ts"
import { PasswordChanges } from "../../services/credentials/PasswordChanges.ts"
import { type Device, Sessions } from "../../services/credentials/Sessions.ts"
import type { ProviderCredential } from "../../services/provider/IdentityProvider.ts"
import { ProviderSignIn } from "../../services/provider/ProviderSignIn.ts"
import { Api } from "../api/Api.ts"
import { success } from "../api/Success.ts"
import { credentialOf } from "../Credential.ts"
import { DEVICE_COOKIE, setDeviceCookie } from "../DeviceCookie.ts"
import { Limiter } from "../middleware/RateLimit.ts"
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
    const devices = yield* Devices
    const limiter = yield* Limiter
    const passwordChanges = yield* PasswordChanges
    const providers = yield* ProviderSignIn
    const sessions = yield* Sessions

    // A browser that signs in again, or as somebody else, leaves no session behind (OWASP ASVS 7.2.4).
    const endPrevious = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const token = credentialOf(request)
      if (token !== undefined) yield* sessions.end(token)
    })

    const answerSignIn = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, signIn: SignIn) {
      yield* endPrevious(request)
      yield* answerWith(setSessionCookie(signIn.accessToken))
      yield* answerWith(setDeviceCookie(yield* devices.remember(signIn.user.id)))
      return signIn
    })

    const limitEmail = (email: string, endpoint: keyof typeof Api.groups.auth.endpoints) =>
      limiter.countBeside(emailSubject(email), Api.groups.auth.endpoints[endpoint])

    // Whoever guesses from elsewhere uses up the limit of the address, and not that of a device that signed in before.
    const logInSubject = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, email: string) {
      const token = request.cookies[DEVICE_COOKIE]
      const device = token === undefined ? Option.none<string>() : yield* devices.recognise(token, email)
      return Option.match(device, { onNone: () => emailSubject(email), onSome: (id) => `device:${id}` })
    })

    return handlers.handleAll({
      google: Effect.fnUntraced(function*({ payload, request }) {
        return yield* answerSignIn(request, yield* providers.signIn(credentialIn(payload), deviceOf(request)))
      }),
      signUp: Effect.fnUntraced(function*({ payload }) {
        yield* limitEmail(payload.email, "signUp")
        yield* accounts.signUp({ ...payload, name: payload.name ?? undefined })
        return success
      }),
      verifyEmail: Effect.fnUntraced(function*({ payload, request }) {
        return yield* answerSignIn(request, yield* accounts.verifyEmail(payload.token, deviceOf(request)))
      }),
      logIn: Effect.fnUntraced(function*({ payload, request }) {
        yield* limiter.countBeside(yield* logInSubject(request, payload.email), Api.groups.auth.endpoints.logIn)
        return yield* answerSignIn(request, yield* accounts.logIn(payload, deviceOf(request)))
      }),
      requestPasswordReset: Effect.fnUntraced(function*({ payload }) {
        yield* limitEmail(payload.email, "requestPasswordReset")
        yield* passwordChanges.requestReset(payload.email)
        return success
      }),
      resetPassword: ({ payload }) => Effect.as(passwordChanges.reset(payload.token, payload.password), success),
      logOut: Effect.fnUntraced(function*({ request }) {
        yield* endPrevious(request)
        yield* answerWith(clearSessionCookie)
        return success
      })
    })
  })
)

/** Limits are counted for an address in whatever spelling, and no counter holds the address itself. */
const emailSubject = (email: string) => `email:${createHash("sha256").update(emailKey(email)).digest("base64url")}`

const credentialIn = ({ code, credential, idToken }: {
  readonly code?: Redacted.Redacted
  readonly idToken?: Redacted.Redacted
  readonly credential?: Redacted.Redacted
}): ProviderCredential => code === undefined ? { idToken: idToken ?? credential ?? NO_TOKEN } : { code }

const NO_TOKEN = Redacted.make("")
