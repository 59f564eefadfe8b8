import { type Context, Effect, Layer } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { looksLikeToken } from "../../services/accounts/Tokens.ts"
import { TokensRefused } from "../api/Access.ts"
import {
  AdminAuthentication,
  Caller,
  CallerAuthentication,
  CurrentSession,
  OptionalAuthentication,
  SessionAuthentication,
  StaleCookie,
  Viewer
} from "../api/Authentication.ts"
import { adminSession, anyCaller, anySession, anyVisitor, makeAdmit, sessionNeeded } from "./Admission.ts"
import { Authenticator } from "./Authenticator.ts"
import { bearerToken } from "./BearerToken.ts"

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
