import { Context, Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { Forbidden, Unauthorized } from "../../schema/Errors.ts"
import type { Principal, SessionPrincipal } from "../../schema/User.ts"
import { looksLikeToken } from "../../services/credentials/PersonalAccessTokens.ts"
import { OpenWhilePending, RequiredScope, TokensRefused } from "../api/Access.ts"
import {
  AdminAuthentication,
  Authentication,
  Caller,
  CurrentSession,
  OptionalAuthentication,
  SessionAuthentication,
  StaleCookie,
  Viewer
} from "../api/Authentication.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { bearerToken } from "./BearerToken.ts"
import { Credentials } from "./Credentials.ts"

const subjectOf = (principal: Principal) =>
  principal.kind === "token" ? `token:${principal.tokenId}` : `user:${principal.userId}`

const isPending = (principal: Principal) => principal.kind === "session" && principal.deletion !== "none"

const checkPending = (principal: Principal, endpoint: HttpApiEndpoint.Top) =>
  isPending(principal) && !Context.get(endpoint.annotations, OpenWhilePending)
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
    return yield* credentials.read(endpoint).pipe(Effect.tapError(() => limiter.countAddress(endpoint)))
  })

  const required = Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
    const principal = yield* identify(endpoint)
    if (Option.isSome(principal)) return principal.value
    yield* limiter.countAddress(endpoint)
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
      const principal = yield* credentials.readOptional(endpoint).pipe(
        Effect.tapError(() => limiter.countAddress(endpoint))
      )
      yield* Option.match(principal, {
        onNone: () => limiter.countAddress(endpoint),
        onSome: (known) => limiter.count(subjectOf(known), endpoint)
      })
      return Option.filter(principal, (known) => !isPending(known))
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

const staleCookieLayer = Layer.effect(
  StaleCookie,
  Effect.map(
    Credentials,
    ({ clearStaleCookie }) => (httpEffect, { endpoint }) => Effect.andThen(clearStaleCookie(endpoint), httpEffect)
  )
)

export const authenticationLayer = Layer.mergeAll(
  callerLayer,
  sessionLayer,
  adminLayer,
  viewerLayer,
  staleCookieLayer,
  tokensRefusedLayer
).pipe(Layer.provide(Credentials.layer))
