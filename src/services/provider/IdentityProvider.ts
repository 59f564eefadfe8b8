import { Config, Context, Effect, Layer, Option, Redacted, Schema, Semaphore } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { withoutFormat } from "../../schema/Text.ts"
import { isAvatar, MAX_AVATAR, MAX_DISPLAY_NAME } from "../../schema/User.ts"
import {
  ProviderBusy,
  ProviderDisabled,
  type ProviderEmailUnverified,
  ProviderNotConfigured,
  type SignInRefused
} from "../DomainErrors.ts"
import { GOOGLE, settings } from "../settings/Registry.ts"
import { traced } from "../tracing/Traced.ts"
import type { UpstreamFailure } from "../upstream/Upstream.ts"
import { type Claims, isJwt, keyIdOf, notAccepted, verifyIdToken } from "./IdTokens.ts"
import { requestProvider } from "./ProviderCalls.ts"
import { makeProviderDiscovery } from "./ProviderDiscovery.ts"
import { makeProviderKeys } from "./ProviderKeys.ts"

export interface Identity {
  /** As in the discovery document. */
  readonly issuer: string
  /** Never reassigned within an issuer (OpenID Connect Core, 2); the address may be. */
  readonly subject: string
  readonly email: string
  readonly name: string | undefined
  readonly picture: string | undefined
}

export type ProviderCredential = { readonly code: Redacted.Redacted } | { readonly idToken: Redacted.Redacted }

/** Google's tokens may omit the scheme (Google Identity, "Verify the Google ID token"). */
const issuersOf = (issuer: string) => issuer === GOOGLE ? [GOOGLE, "accounts.google.com"] : [issuer]

/** While the provider hangs, each lasts 5 seconds and keeps a connection. */
const MAX_EXCHANGES = 32

const TokenResponse = Schema.Struct({ id_token: Schema.String })

export type ProviderFailure =
  | SignInRefused
  | ProviderDisabled
  | ProviderEmailUnverified
  | ProviderBusy
  | ProviderNotConfigured
  | UpstreamFailure

export class IdentityProvider extends Context.Service<IdentityProvider, {
  /** A code is valid once, an ID token until it expires. */
  readonly identify: (credential: ProviderCredential) => Effect.Effect<Identity, ProviderFailure>
}>()("route-planning-service/IdentityProvider") {
  /** `ProviderDisabled` where it is switched off, `ProviderNotConfigured` without `GOOGLE_CLIENT_ID` and `GOOGLE_CLIENT_SECRET`. */
  static readonly layer = Layer.effect(
    IdentityProvider,
    Effect.gen(function*() {
      const clientId = yield* settings.GOOGLE_CLIENT_ID.pipe(Config.withDefault(""))
      const secret = yield* settings.GOOGLE_CLIENT_SECRET.pipe(Config.withDefault(Redacted.make("")))
      const issuer = yield* settings.GOOGLE_ISSUER
      const client = yield* HttpClient.HttpClient
      if (!(yield* settings.PROVIDER_SIGN_IN_ENABLED)) return IdentityProvider.of({ identify: disabled })
      if (clientId === "" || Redacted.value(secret) === "") return IdentityProvider.of({ identify: notConfigured })

      const keysFor = yield* makeProviderKeys(client)
      const discover = yield* makeProviderDiscovery(client, issuer)
      const exchanges = yield* Semaphore.make(MAX_EXCHANGES)

      const exchange = Effect.fnUntraced(function*(code: string) {
        const { token_endpoint } = yield* discover()
        const request = HttpClientRequest.post(token_endpoint).pipe(
          HttpClientRequest.bodyUrlParams({
            grant_type: "authorization_code",
            code,
            client_id: clientId,
            client_secret: Redacted.value(secret),
            // For Google's popup and one-tap clients, which have no page to return to.
            redirect_uri: "postmessage"
          })
        )
        const { id_token } = yield* requestProvider(client, request, TokenResponse).pipe(
          Effect.catchTag("ProviderRefused", ({ status }) => refusedExchange(status))
        )
        return id_token
      })

      const idTokenOf = (credential: ProviderCredential) => {
        if ("idToken" in credential) return Effect.succeed(Redacted.value(credential.idToken))
        const code = Redacted.value(credential.code)
        if (isJwt(code)) return Effect.succeed(code)
        return exchange(code).pipe(
          exchanges.withPermitsIfAvailable(1),
          Effect.flatMap(Option.match({ onNone: () => Effect.fail(new ProviderBusy()), onSome: Effect.succeed }))
        )
      }

      return IdentityProvider.of({
        identify: traced("IdentityProvider.identify")(function*(credential) {
          const token = yield* idTokenOf(credential)
          const keyId = yield* keyIdOf(token)
          const { issuer, jwks_uri } = yield* discover()
          const keys = yield* keysFor(jwks_uri, keyId)
          const claims = yield* verifyIdToken(token, { keys, issuers: issuersOf(issuer), clientId })
          return identityOf(issuer, claims)
        })
      })
    })
  )
}

const disabled = () => Effect.fail(new ProviderDisabled())

const notConfigured = () => Effect.fail(new ProviderNotConfigured())

/** A bad code is 400 (RFC 6749, 5.2); an operator must fix other statuses. */
const refusedExchange = Effect.fnUntraced(function*(status: number) {
  if (status !== 400) {
    yield* Effect.logWarning("code exchange refused").pipe(Effect.annotateLogs({ status }))
  }
  return yield* notAccepted()
})

const identityOf = (issuer: string, { email, name, picture, sub }: Claims): Identity => ({
  issuer,
  subject: sub,
  email,
  name: nameOf(name),
  picture: pictureOf(picture)
})

const nameOf = (name: unknown) => {
  if (typeof name !== "string") return undefined
  const text = withoutFormat(name.replace(/\p{Cc}/gu, "")).toWellFormed().trim()
  return [...text].slice(0, MAX_DISPLAY_NAME).join("").trim() || undefined
}

const pictureOf = (picture: unknown) => {
  if (typeof picture !== "string" || !URL.canParse(picture)) return undefined
  const { href } = new URL(picture)
  return isAvatar(href) && href.length <= MAX_AVATAR ? href : undefined
}
