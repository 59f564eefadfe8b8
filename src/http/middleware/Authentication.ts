import { Context, Effect, Layer, Option } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Forbidden, Unauthorized } from "../../schema/Errors.ts"
import { type LiveSession, Sessions } from "../../services/Sessions.ts"
import { Authentication, Caller, OptionalAuthentication, SESSION_COOKIE, Viewer } from "../api/Authentication.ts"
import { bearerToken } from "../Credential.ts"
import { clearSessionCookie, setSessionCookie } from "../SessionCookie.ts"
import { CrossSite } from "./CrossSite.ts"

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"])

const refused = new Unauthorized({ message: "The credential is invalid, expired or revoked" })

/** On every answer whose content depends on who asks. */
const varyByCredential = HttpEffect.appendPreResponseHandler((_request, response) =>
  Effect.succeed(
    HttpServerResponse.setHeader(
      response,
      "vary",
      [response.headers["vary"], "Authorization, Cookie"].filter((value) => value !== undefined).join(", ")
    )
  )
)

/** After our own fault the client keeps the token it has: this answer may never have been meant for it. */
const unlessServerError = (
  change: (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(response.status >= 500 ? response : change(response))
  )

/** The steps from a request's credential to the session behind it. */
class Credentials extends Context.Service<Credentials, {
  /** None without a credential; `Unauthorized` with one that is not good. */
  readonly read: Effect.Effect<
    Option.Option<LiveSession>,
    Unauthorized | Forbidden,
    HttpServerRequest.HttpServerRequest
  >
}>()("route-planning-service/Credentials") {
  static readonly layer = Layer.effect(
    Credentials,
    Effect.gen(function*() {
      const sessions = yield* Sessions
      const crossSite = yield* CrossSite

      const byBearer = Effect.fnUntraced(function*(authorization: string) {
        const token = bearerToken(authorization)
        const live = token === undefined ? Option.none() : yield* sessions.authenticate(token)
        if (Option.isNone(live)) return yield* refused
        const { freshToken } = live.value
        yield* unlessServerError(HttpServerResponse.setHeader("x-access-token", freshToken))
        return live
      })

      const byCookie = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, token: string) {
        const live = yield* sessions.authenticate(token)
        if (Option.isNone(live)) {
          yield* unlessServerError(clearSessionCookie)
          return yield* refused
        }
        if (!SAFE_METHODS.has(request.method)) yield* crossSite.check(request)
        yield* unlessServerError(setSessionCookie(live.value.freshToken))
        return live
      })

      return Credentials.of({
        read: Effect.gen(function*() {
          yield* varyByCredential
          const request = yield* HttpServerRequest.HttpServerRequest
          const authorization = request.headers["authorization"]
          if (authorization !== undefined) return yield* byBearer(authorization)
          const cookie = request.cookies[SESSION_COOKIE]
          return cookie === undefined ? Option.none() : yield* byCookie(request, cookie)
        })
      })
    })
  )
}

const required = Layer.effect(
  Authentication,
  Effect.map(Credentials, (credentials) =>
    Effect.fnUntraced(function*(httpEffect) {
      const live = yield* credentials.read
      if (Option.isNone(live)) return yield* new Unauthorized({ message: "Sign in first" })
      return yield* Effect.provideService(httpEffect, Caller, live.value.principal)
    }))
)

const optional = Layer.effect(
  OptionalAuthentication,
  Effect.map(Credentials, (credentials) =>
    Effect.fnUntraced(function*(httpEffect) {
      const live = yield* credentials.read
      return yield* Effect.provideService(httpEffect, Viewer, Option.map(live, ({ principal }) => principal))
    }))
)

export const authenticationLayer = Layer.merge(required, optional).pipe(Layer.provide(Credentials.layer))
