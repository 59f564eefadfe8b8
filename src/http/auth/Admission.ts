import { Context, Effect, Layer, Option } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { Forbidden, Unauthorized } from "../../schema/Errors.ts"
import type { Principal } from "../../schema/Principal.ts"
import { looksLikeToken } from "../../services/accounts/Tokens.ts"
import {
  AdminAuthentication,
  Caller,
  CallerAuthentication,
  CurrentSession,
  OpenWhilePending,
  OptionalAuthentication,
  RequiredScope,
  SessionAuthentication,
  StaleCookie,
  TokensRefused,
  Viewer
} from "../api/Access.ts"
import { type Endpoint, Limiter } from "../middleware/RateLimit.ts"
import { noteCredential } from "../request/AddressShares.ts"
import { Authenticator } from "./Authenticator.ts"
import { bearerToken } from "./Credentials.ts"

interface Admission<A, E> {
  readonly identify: (
    authenticator: Authenticator["Service"],
    endpoint: Endpoint
  ) => Effect.Effect<Option.Option<Principal>, E, HttpServerRequest.HttpServerRequest>
  readonly anonymous: () => Effect.Effect<A, E>
  readonly known: (principal: Principal, endpoint: Endpoint) => Effect.Effect<A, E>
}

const isPending = (principal: Principal) => principal.kind === "session" && principal.deletion !== "none"

const checkPending = (principal: Principal, endpoint: Endpoint) =>
  isPending(principal) && !Context.get(endpoint.annotations, OpenWhilePending)
    ? Effect.fail(
      new Forbidden({
        message: "The account is pending deletion: cancel the deletion first",
        details: { reason: "account_pending_deletion" }
      })
    )
    : Effect.void

const checkScope = (principal: Principal, endpoint: Endpoint) =>
  principal.kind === "token" && principal.scope === "read" &&
    Context.get(endpoint.annotations, RequiredScope) === "write"
    ? Effect.fail(
      new Forbidden({
        message: "Insufficient scope: expected a token with scope \"write\"",
        details: { reason: "insufficient_scope" }
      })
    )
    : Effect.void

const sessionNeeded = () =>
  new Forbidden({
    message: "Personal access tokens are refused: expected a session",
    details: { reason: "session_required" }
  })

const required = <A>(
  known: Admission<A, Unauthorized | Forbidden>["known"]
): Admission<A, Unauthorized | Forbidden> => ({
  identify: (authenticator, endpoint) => authenticator.read(endpoint),
  anonymous: () =>
    Effect.fail(
      new Unauthorized({
        message: "Sign in first, or send Authorization: Bearer and a token",
        details: { reason: "not_signed_in" }
      })
    ),
  known
})

const anyCaller = required(Effect.fnUntraced(function*(principal, endpoint) {
  yield* checkPending(principal, endpoint)
  yield* checkScope(principal, endpoint)
  return principal
}))

const requireSession = Effect.fnUntraced(function*(principal: Principal, endpoint: Endpoint) {
  if (principal.kind !== "session") return yield* sessionNeeded()
  yield* checkPending(principal, endpoint)
  return principal
})

export const anySession = required(requireSession)

export const adminSession = required(Effect.fnUntraced(function*(principal, endpoint) {
  const session = yield* requireSession(principal, endpoint)
  if (session.role !== "admin") {
    return yield* new Forbidden({
      message: "Only administrators may do this",
      details: { reason: "administrator_required" }
    })
  }
  return session
}))

/** A session whose account is pending deletion counts as anonymous. */
export const anyVisitor: Admission<Option.Option<Principal>, Unauthorized> = {
  identify: (authenticator, endpoint) => authenticator.readOptional(endpoint),
  anonymous: () => Effect.succeedNone,
  known: (principal) => Effect.succeed(Option.liftPredicate(principal, (known) => !isPending(known)))
}

const subjectOf = (principal: Principal) =>
  principal.kind === "token" ? `token:${principal.tokenId}` : `user:${principal.userId}`

/** Admits a caller again whose request takes long, and counts no request. */
export const makeReadmit = Effect.map(
  Authenticator,
  (authenticator) =>
    Effect.fnUntraced(function*(principal: Principal, endpoint: Endpoint) {
      return yield* anyCaller.known(yield* authenticator.again(principal, endpoint), endpoint)
    })
)

/** Checks identity, kind, scope, then rate. An invalid credential counts against the client's address. */
export const makeAdmit = Effect.gen(function*() {
  const authenticator = yield* Authenticator
  const limiter = yield* Limiter

  return <A, E>({ anonymous, identify, known }: Admission<A, E>) =>
    Effect.fnUntraced(function*(endpoint: Endpoint) {
      const principal = yield* Effect.tapError(
        identify(authenticator, endpoint),
        () => limiter.countAddress(endpoint)
      )
      if (Option.isNone(principal)) {
        yield* limiter.countAddress(endpoint)
        return yield* anonymous()
      }
      const admitted = yield* known(principal.value, endpoint)
      yield* noteCredential
      yield* limiter.count(subjectOf(principal.value), endpoint)
      return admitted
    })
})

const providing = <I, A, E, R>(
  key: Context.Key<I, A>,
  admit: (endpoint: HttpApiEndpoint.Top) => Effect.Effect<A, E, R>
) =>
<Unhandled, Needs>(
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, Unhandled, Needs>,
  { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }
) => Effect.flatMap(admit(endpoint), (admitted) => Effect.provideService(httpEffect, key, admitted))

const callerLayer = Layer.effect(
  CallerAuthentication,
  Effect.map(makeAdmit, (admit) => providing(Caller, admit(anyCaller)))
)

const sessionLayer = Layer.effect(
  SessionAuthentication,
  Effect.map(makeAdmit, (admit) => providing(CurrentSession, admit(anySession)))
)

const adminLayer = Layer.effect(
  AdminAuthentication,
  Effect.map(makeAdmit, (admit) => providing(CurrentSession, admit(adminSession)))
)

const viewerLayer = Layer.effect(
  OptionalAuthentication,
  Effect.map(makeAdmit, (admit) => providing(Viewer, admit(anyVisitor)))
)

const staleCookieLayer = Layer.effect(
  StaleCookie,
  Effect.map(
    Authenticator,
    ({ clearStaleCookie }) => (httpEffect, { endpoint }) => Effect.andThen(clearStaleCookie(endpoint), httpEffect)
  )
)

const tokensRefusedLayer = Layer.succeed(TokensRefused, (httpEffect) =>
  Effect.gen(function*() {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    if (looksLikeToken(bearerToken(headers["authorization"] ?? "") ?? "")) return yield* sessionNeeded()
    return yield* httpEffect
  }))

export const authenticationLayer = Layer.mergeAll(
  callerLayer,
  sessionLayer,
  adminLayer,
  viewerLayer,
  staleCookieLayer,
  tokensRefusedLayer
).pipe(Layer.provide(Authenticator.layer))
