import { Context, Effect, Layer, Option } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { Forbidden, Unauthorized } from "../../schema/Errors.ts"
import type { Principal, SessionPrincipal } from "../../schema/User.ts"
import { looksLikeToken, PersonalAccessTokens } from "../../services/credentials/PersonalAccessTokens.ts"
import { Sessions } from "../../services/credentials/Sessions.ts"
import { OpenWhenOver, OpenWhilePending, RequiredScope, TokensRefused } from "../api/Access.ts"
import {
  AdminAuthentication,
  Authentication,
  Caller,
  CurrentSession,
  OptionalAuthentication,
  SESSION_COOKIE,
  SessionAuthentication,
  Viewer
} from "../api/Authentication.ts"
import { addressSubject } from "../ClientAddress.ts"
import { bearerToken } from "../Credential.ts"
import { clearSessionCookie, setSessionCookie } from "../SessionCookie.ts"
import { CrossSite } from "./CrossSite.ts"
import { Limiter } from "./RateLimit.ts"

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

/** What a request proves itself by: a session that its answer refreshes, or a personal access token. */
class Credentials extends Context.Service<Credentials, {
  /** None without a credential; `Unauthorized` with one that is not good. */
  readonly read: (endpoint: HttpApiEndpoint.Top) => Effect.Effect<
    Option.Option<Principal>,
    Unauthorized | Forbidden,
    HttpServerRequest.HttpServerRequest
  >
}>()("route-planning-service/Credentials") {
  static readonly layer = Layer.effect(
    Credentials,
    Effect.gen(function*() {
      const sessions = yield* Sessions
      const tokens = yield* PersonalAccessTokens
      const crossSite = yield* CrossSite

      const authenticate = (token: string, endpoint: HttpApiEndpoint.Top) =>
        Effect.map(
          sessions.authenticate(token),
          Option.filter(({ principal }) =>
            principal.deletion !== "over" || Context.get(endpoint.annotations, OpenWhenOver)
          )
        )

      const bySessionToken = Effect.fnUntraced(function*(token: string, endpoint: HttpApiEndpoint.Top) {
        const live = yield* authenticate(token, endpoint)
        if (Option.isNone(live)) return yield* refused
        yield* unlessServerError(HttpServerResponse.setHeader("x-access-token", live.value.freshToken))
        return live.value.principal
      })

      const byAccessToken = Effect.fnUntraced(function*(token: string) {
        const principal = yield* tokens.authenticate(token)
        return Option.isNone(principal) ? yield* refused : principal.value
      })

      const byBearer = (authorization: string, endpoint: HttpApiEndpoint.Top): Effect.Effect<
        Principal,
        Unauthorized,
        HttpServerRequest.HttpServerRequest
      > => {
        const token = bearerToken(authorization)
        if (token === undefined) return Effect.fail(refused)
        return looksLikeToken(token) ? byAccessToken(token) : bySessionToken(token, endpoint)
      }

      const byCookie = Effect.fnUntraced(function*(
        request: HttpServerRequest.HttpServerRequest,
        token: string,
        endpoint: HttpApiEndpoint.Top
      ) {
        const live = yield* authenticate(token, endpoint)
        if (Option.isNone(live)) {
          yield* unlessServerError(clearSessionCookie)
          return yield* refused
        }
        if (!SAFE_METHODS.has(request.method)) yield* crossSite.check(request)
        yield* unlessServerError(setSessionCookie(live.value.freshToken))
        return live.value.principal
      })

      return Credentials.of({
        read: Effect.fnUntraced(function*(endpoint) {
          yield* varyByCredential
          const request = yield* HttpServerRequest.HttpServerRequest
          const authorization = request.headers["authorization"]
          if (authorization !== undefined) return Option.some(yield* byBearer(authorization, endpoint))
          const cookie = request.cookies[SESSION_COOKIE]
          return cookie === undefined ? Option.none() : Option.some(yield* byCookie(request, cookie, endpoint))
        })
      })
    })
  )
}

const subjectOf = (principal: Principal) =>
  principal.kind === "token" ? `token:${principal.tokenId}` : `user:${principal.userId}`

const checkPending = (principal: Principal, endpoint: HttpApiEndpoint.Top) =>
  principal.kind === "session" && principal.deletion !== "none" && !Context.get(endpoint.annotations, OpenWhilePending)
    ? Effect.fail(new Forbidden({ message: "The account is about to be deleted: cancel the deletion first" }))
    : Effect.void

const checkScope = (principal: Principal, endpoint: HttpApiEndpoint.Top) =>
  principal.kind === "token" && principal.scope === "read" &&
    Context.get(endpoint.annotations, RequiredScope) === "write"
    ? Effect.fail(new Forbidden({ message: "The token's scope does not reach this far: it needs \"write\"" }))
    : Effect.void

const sessionNeeded = new Forbidden({ message: "Personal access tokens may not do this: it needs a session" })

const requireSession = (principal: Principal) =>
  principal.kind === "session"
    ? Effect.succeed(principal)
    : Effect.fail(sessionNeeded)

const requireAdmin = ({ role }: SessionPrincipal) =>
  role === "admin" ? Effect.void : Effect.fail(new Forbidden({ message: "This is for administrators" }))

/** The order of checks: who, of which kind, with which scope, how often. A refused credential counts for its address. */
const admit = Effect.gen(function*() {
  const credentials = yield* Credentials
  const limiter = yield* Limiter

  const identify = Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
    const request = yield* HttpServerRequest.HttpServerRequest
    return yield* credentials.read(endpoint).pipe(
      Effect.tapError(() => limiter.count(addressSubject(request), endpoint))
    )
  })

  const required = Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const principal = yield* identify(endpoint)
    if (Option.isSome(principal)) return principal.value
    yield* limiter.count(addressSubject(request), endpoint)
    return yield* new Unauthorized({ message: "Sign in first" })
  })

  return {
    caller: Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
      const principal = yield* required(endpoint)
      yield* checkPending(principal, endpoint)
      yield* checkScope(principal, endpoint)
      yield* limiter.count(subjectOf(principal), endpoint)
      return principal
    }),
    session: Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
      const principal = yield* Effect.flatMap(required(endpoint), requireSession)
      yield* checkPending(principal, endpoint)
      yield* limiter.count(subjectOf(principal), endpoint)
      return principal
    }),
    admin: Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
      const principal = yield* Effect.flatMap(required(endpoint), requireSession)
      yield* checkPending(principal, endpoint)
      yield* requireAdmin(principal)
      yield* limiter.count(subjectOf(principal), endpoint)
      return principal
    }),
    viewer: Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const principal = yield* identify(endpoint)
      if (Option.isSome(principal)) yield* checkPending(principal.value, endpoint)
      yield* limiter.count(
        Option.match(principal, { onNone: () => addressSubject(request), onSome: subjectOf }),
        endpoint
      )
      return principal
    })
  }
})

const tokensRefusedLayer = Layer.succeed(TokensRefused, (httpEffect) =>
  Effect.gen(function*() {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    if (looksLikeToken(bearerToken(headers["authorization"] ?? "") ?? "")) return yield* sessionNeeded
    return yield* httpEffect
  }))

const callerLayer = Layer.effect(
  Authentication,
  Effect.map(
    admit,
    ({ caller }) => (httpEffect, { endpoint }) =>
      Effect.flatMap(caller(endpoint), (principal) => Effect.provideService(httpEffect, Caller, principal))
  )
)

const sessionLayer = Layer.effect(
  SessionAuthentication,
  Effect.map(
    admit,
    ({ session }) => (httpEffect, { endpoint }) =>
      Effect.flatMap(session(endpoint), (principal) => Effect.provideService(httpEffect, CurrentSession, principal))
  )
)

const adminLayer = Layer.effect(
  AdminAuthentication,
  Effect.map(
    admit,
    ({ admin }) => (httpEffect, { endpoint }) =>
      Effect.flatMap(admin(endpoint), (principal) => Effect.provideService(httpEffect, CurrentSession, principal))
  )
)

const viewerLayer = Layer.effect(
  OptionalAuthentication,
  Effect.map(
    admit,
    ({ viewer }) => (httpEffect, { endpoint }) =>
      Effect.flatMap(viewer(endpoint), (principal) => Effect.provideService(httpEffect, Viewer, principal))
  )
)

export const authenticationLayer = Layer.mergeAll(
  callerLayer,
  sessionLayer,
  adminLayer,
  viewerLayer,
  tokensRefusedLayer
).pipe(Layer.provide(Credentials.layer))
