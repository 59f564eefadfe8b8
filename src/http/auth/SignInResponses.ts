import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { createHash } from "node:crypto"
import { type Device, Devices, Sessions } from "../../services/accounts/Sessions.ts"
import type { SignIn } from "../../services/accounts/SignIn.ts"
import { emailKey } from "../../services/identity/Users.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { DEVICE_COOKIE } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { addressSubjects, clientNetwork } from "../request/ClientAddress.ts"
import { changeResponse } from "../request/ResponseChange.ts"
import { clearSessionCookie, setDeviceCookie, setSessionCookie, tokenOf } from "./Credentials.ts"

type AuthEndpoint = keyof typeof Api.groups.auth.endpoints

export const deviceOf = (request: HttpServerRequest.HttpServerRequest): Device => ({
  userAgent: request.headers["user-agent"],
  ipAddress: Option.getOrUndefined(request.remoteAddress),
  network: clientNetwork(request),
  token: tokenOf(request)
})

/** Email addresses count case-insensitively; counters store only their hash. */
const emailSubject = (email: string) => `email:${createHash("sha256").update(emailKey(email)).digest("base64url")}`

/** Counts by network too, as mails do: a stranger cannot use up the limit of an address's owner. */
const askedSubject = (request: HttpServerRequest.HttpServerRequest, email: string) =>
  `${emailSubject(email)} ${addressSubjects(request).network}`

export const signInResponses = Effect.gen(function*() {
  const devices = yield* Devices
  const limiter = yield* Limiter
  const sessions = yield* Sessions

  // Guesses from elsewhere cannot lock out a known device.
  const logInSubject = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, email: string) {
    const token = request.cookies[DEVICE_COOKIE]
    const device = token === undefined ? Option.none<string>() : yield* devices.recognise(token, email)
    return Option.match(device, { onNone: () => emailSubject(email), onSome: (id) => `device:${id}` })
  })

  return {
    /** Does nothing in the database, where the sign-in is stored. */
    signedIn: Effect.fnUntraced(function*(signIn: SignIn) {
      const notes = yield* RequestNotes
      notes.caller = { idHash: signIn.user.idHash }
      yield* changeResponse(setSessionCookie(signIn.accessToken))
      yield* changeResponse(setDeviceCookie(yield* devices.remember(signIn.user.id)))
      return signIn
    }),
    signedOut: Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const token = tokenOf(request)
      if (token !== undefined) yield* sessions.end(token)
      yield* changeResponse(clearSessionCookie)
    }),
    limitEmail: (request: HttpServerRequest.HttpServerRequest, email: string, endpoint: AuthEndpoint) =>
      limiter.countSecond(askedSubject(request, email), Api.groups.auth.endpoints[endpoint]),
    limitLogIn: Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, email: string) {
      yield* limiter.countSecond(yield* logInSubject(request, email), Api.groups.auth.endpoints.logIn)
    })
  }
})
