import {
  Cache,
  type Cause,
  Clock,
  Config,
  type Context,
  Duration,
  Effect,
  Exit,
  Option,
  Redacted,
  Schema,
  Semaphore,
  Struct
} from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as oidc from "openid-client"
import type { ProviderState } from "../../schema/Admin.ts"
import { isCodePointLength, WellFormedString, withoutFormat } from "../../schema/Text.ts"
import { Email, isAvatar, MAX_AVATAR, MAX_DISPLAY_NAME } from "../../schema/User.ts"
import { AT_ONCE } from "../admission/Lanes.ts"
import { machineClock } from "../db/SharedTime.ts"
import {
  Missing,
  ProviderBusy,
  ProviderDeclined,
  type ProviderDisabled,
  ProviderEmailUnverified,
  SignInRefused,
  UpstreamAway,
  UpstreamSlow,
  UpstreamUnusable
} from "../DomainErrors.ts"
import { oidcSettings, settings } from "../operations/SettingsRegistry.ts"
import { requestText, type UpstreamFailure } from "../operations/Upstream.ts"

interface OidcProvider {
  /** The id stands in the paths of the provider's sign-in. */
  readonly id: string
  readonly name: string
  readonly issuer: URL
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

const idOf = (prefix: string) => prefix.toLowerCase().replaceAll("_", "-")

const providerOf = (prefix: string): Config.Config<Option.Option<OidcProvider>> => {
  const { CLIENT_ID, CLIENT_SECRET, ISSUER, NAME } = oidcSettings(prefix)
  return Config.map(
    Config.all({
      clientId: CLIENT_ID.value,
      clientSecret: CLIENT_SECRET.value,
      issuer: ISSUER.value,
      name: NAME.value
    }),
    ({ name, ...required }) =>
      Option.map(Option.all(required), (provider) => ({
        ...provider,
        id: idOf(prefix),
        name: Option.getOrElse(name, () => provider.issuer.hostname)
      }))
  )
}

/** Returns the providers of `OIDC_PREFIXES`, in its order; none while sign-in by a provider is switched off. */
export const oidcProviders: Effect.Effect<ReadonlyArray<OidcProvider>, Config.ConfigError> = Effect.gen(function*() {
  if (!(yield* settings.PROVIDER_SIGN_IN_ENABLED)) return []
  const prefixes = new Set(yield* settings.OIDC_PREFIXES)
  return (yield* Effect.forEach(prefixes, providerOf)).flatMap(Option.toArray)
})

/** Documents have some KiB. A body without end would be garbage that costs collections of the whole heap. */
export const PROVIDER = {
  name: "The identity provider",
  timeout: "5 seconds",
  maxBytes: 1024 * 1024,
  maxUndeclaredBytes: 128 * 1024
} as const

export const SKEW_SECONDS = 60

const Claims = Schema.Struct({
  sub: WellFormedString.check(isCodePointLength(1, 255)),
  aud: Schema.Union([Schema.String, Schema.Array(Schema.String)]),
  azp: Schema.optionalKey(Schema.String),
  iat: Schema.Finite,
  exp: Schema.Finite,
  email: Email,
  email_verified: Schema.optionalKey(Schema.Unknown),
  name: Schema.optionalKey(Schema.Unknown),
  picture: Schema.optionalKey(Schema.Unknown)
})
type Claims = typeof Claims.Type

const decodeClaims = Schema.decodeUnknownEffect(Claims)

export interface Identity {
  /** The issuer is written as in the discovery document. */
  readonly issuer: string
  /** The provider never reassigns it within an issuer (OpenID Connect Core, 2), unlike the address. */
  readonly subject: string
  readonly email: string
  readonly name: string | undefined
  readonly picture: string | undefined
}

export const notAccepted = () => new SignInRefused()

/** Checks the claims of a signed ID token by OpenID Connect Core, 3.1.3.7, and that the address is verified. */
export const identityOf = Effect.fnUntraced(function*(payload: unknown, expected: {
  readonly issuer: string
  readonly clientId: string
  readonly longestLifeSeconds?: number
}) {
  const { clientId, issuer, longestLifeSeconds = Number.POSITIVE_INFINITY } = expected
  const now = (yield* Clock.currentTimeMillis) / 1000
  const claims = yield* Effect.mapError(decodeClaims(payload), notAccepted)
  const { email, email_verified, exp, iat, name, picture, sub } = claims
  if (!isForUs(claims, clientId) || !isTimely(claims, now) || exp - iat > longestLifeSeconds) {
    return yield* notAccepted()
  }
  if (email_verified !== true && email_verified !== "true") return yield* new ProviderEmailUnverified()
  const identity: Identity = { issuer, subject: sub, email, name: nameOf(name), picture: pictureOf(picture) }
  return identity
})

/** With a sole audience `azp` may be another client: Google names the app that requested a token for its server. */
const isForUs = ({ aud, azp }: Claims, clientId: string) =>
  azp === clientId || [aud].flat().every((audience) => audience === clientId)

/** Clock skew is for tokens from the future only: an expired one is never accepted. */
const isTimely = ({ exp, iat }: Claims, now: number) => exp > now && iat <= now + SKEW_SECONDS

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

/** These random texts bind a sign-in to one browser (OpenID Connect Core, 3.1.2.1; RFC 7636, 4.1). */
interface SignInChecks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

const KEPT = Duration.hours(1)

const PROFILE = ["email", "email_verified", "name", "picture"] as const

const isUpstreamFailure = Schema.is(Schema.Union([UpstreamUnusable, UpstreamAway, UpstreamSlow]))

export const unusable = () => new UpstreamUnusable({ name: PROVIDER.name })

const upstreamFailureIn = (error: unknown): UpstreamFailure | undefined => {
  if (isUpstreamFailure(error)) return error
  return error instanceof Error ? upstreamFailureIn(error.cause) : undefined
}

/** An `error` of the provider is logged only if it looks like those of RFC 6749. */
const CODE = /^[a-z_]{1,64}$/

const codeOf = (error: unknown): string | undefined => {
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
    return CODE.test(error.error) ? error.error : undefined
  }
  return error instanceof oidc.ClientError ? error.code : undefined
}

/** The log has a code for the operator, and nothing of the request or the response. */
const refused = Effect.fnUntraced(function*(provider: OidcProvider, { cause: error }: Cause.UnknownError) {
  const failure = upstreamFailureIn(error)
  if (failure !== undefined) return yield* failure
  yield* Effect.logWarning("sign-in by a provider refused").pipe(
    Effect.annotateLogs({ provider: provider.id, reason: codeOf(error) ?? "unknown" })
  )
  return yield* error instanceof oidc.AuthorizationResponseError ? new ProviderDeclined() : notAccepted()
})

/**
 * Requests of openid-client have the timeout and the bounds of all calls of other services, and no redirects. The signal
 * ends them.
 */
const fetchBy = (
  client: HttpClient.HttpClient,
  context: Context.Context<never>,
  signal: AbortSignal
): oidc.CustomFetch => {
  const run = Effect.runPromiseWith(context)
  return (url, { body, headers, method }) => {
    const request = method === "POST"
      ? HttpClientRequest.bodyText(HttpClientRequest.post(url, { headers }), String(body), headers["content-type"])
      : HttpClientRequest.get(url, { headers })
    const response = Effect.map(
      requestText(client, request, PROVIDER),
      ({ status, text }) =>
        new Response(text === "" ? null : text, { status, headers: { "content-type": "application/json" } })
    )
    return run(response, { signal })
  }
}

/** Authentik does not decode what `client_secret_basic` must encode (RFC 6749, 2.3.1). */
const authenticationOf = ({ clientSecret }: OidcProvider, metadata: oidc.ServerMetadata) =>
  metadata.token_endpoint_auth_methods_supported?.includes("client_secret_post") === true
    ? oidc.ClientSecretPost(Redacted.value(clientSecret))
    : oidc.ClientSecretBasic(Redacted.value(clientSecret))

/** Providers have HTTPS, except those in development and on a private network. */
const insecureIf = ({ issuer }: Pick<OidcProvider, "issuer">) =>
  issuer.protocol === "http:" ? [oidc.allowInsecureRequests] : []

const callBy = (client: HttpClient.HttpClient) => <A>(use: (fetch: oidc.CustomFetch) => Promise<A>) =>
  Effect.flatMap(
    Effect.context<never>(),
    (context) => Effect.tryPromise((signal) => use(fetchBy(client, context, signal)))
  )

const withoutFinalSlash = (text: string) => text.replace(/\/$/, "")

/** The document (OpenID Connect Discovery 1.0, 4) lasts an hour, failures do not. Concurrent calls share a request. */
export const makeDocument = Effect.fnUntraced(function*<A>(
  client: HttpClient.HttpClient,
  provider: Pick<OidcProvider, "clientId" | "issuer">,
  read: (metadata: oidc.ServerMetadata) => Effect.Effect<A, UpstreamUnusable | Schema.SchemaError>
) {
  // A parsed URL without a path has a final slash; the document knows whether it was written.
  const issuer = withoutFinalSlash(provider.issuer.href)
  const documents = yield* Cache.makeWith(
    (address: string) =>
      callBy(client)((fetch) =>
        oidc.discovery(new URL(address), provider.clientId, undefined, oidc.None(), {
          [oidc.customFetch]: fetch,
          execute: insecureIf(provider)
        })
      ).pipe(
        Effect.map((configuration) => configuration.serverMetadata()),
        Effect.filterOrFail((metadata) => withoutFinalSlash(metadata.issuer) === issuer, unusable),
        Effect.flatMap(read),
        Effect.mapError((error) => upstreamFailureIn(error) ?? unusable())
      ),
    { capacity: 1, timeToLive: (exit) => Exit.isSuccess(exit) ? KEPT : Duration.zero }
  )
  return Cache.get(documents, `${issuer}/.well-known/openid-configuration`)
})

interface KnownProvider extends OidcProvider {
  readonly metadata: Effect.Effect<oidc.ServerMetadata, UpstreamFailure>
}

const withAuthorization = (metadata: oidc.ServerMetadata) =>
  metadata.authorization_endpoint === undefined ? Effect.fail(unusable()) : Effect.succeed(metadata)

/** openid-client reads the time of the machine. */
const clockSkew = Effect.gen(function*() {
  const ours = yield* Clock.currentTimeMillis
  const machine = yield* Effect.provide(Clock.currentTimeMillis, machineClock)
  return Math.round((ours - machine) / 1000)
})

export type ProviderFailure =
  | ProviderBusy
  | ProviderDisabled
  | ProviderEmailUnverified
  | SignInRefused
  | UpstreamFailure

export type RedirectFailure = ProviderFailure | Missing | ProviderDeclined

/** Signs in by redirect to the providers of `OIDC_PREFIXES`: authorization code, PKCE, `state` and `nonce`. */
export interface OpenIdConnect {
  /** Returns the address of the provider at which a sign-in begins. */
  readonly begin: (id: string, redirectUri: URL, checks: SignInChecks) => Effect.Effect<URL, RedirectFailure>
  /** Exchanges the code of `callback`, which is the redirect URI with what the provider added. */
  readonly finish: (id: string, callback: URL, checks: SignInChecks) => Effect.Effect<Identity, RedirectFailure>
  /** Reads the document of each provider, unless it was read within the last hour. */
  readonly status: Effect.Effect<ReadonlyArray<ProviderState>>
}

/** A page of administrators waits for the state. */
const STATE_TIMEOUT = Duration.millis(500)

export const stateOf = (issuer: URL, document: Effect.Effect<unknown, unknown>): Effect.Effect<ProviderState> =>
  Effect.map(
    Effect.isSuccess(Effect.timeout(document, STATE_TIMEOUT)),
    (isThere) => ({ issuer: issuer.origin, status: isThere ? "ok" : "away" })
  )

export const makeOpenIdConnect = Effect.fnUntraced(function*(client: HttpClient.HttpClient) {
  const known = yield* Effect.forEach(yield* oidcProviders, (provider) =>
    Effect.map(
      makeDocument(client, provider, withAuthorization),
      (metadata): KnownProvider => ({ ...provider, metadata })
    ))
  const providers = new Map(known.map((provider) => [provider.id, provider]))
  const calls = yield* Semaphore.make(AT_ONCE.exchanges)

  const find = (id: string) => {
    const provider = providers.get(id)
    return provider === undefined ? Effect.fail(new Missing({ kind: "provider" })) : Effect.succeed(provider)
  }

  const call = callBy(client)

  /** openid-client refreshes keys after five minutes, and after one if they lack the key of a token. */
  const keySets = new Map<string, oidc.ExportedJWKSCache>()

  const configurationOf = Effect.fnUntraced(function*(provider: KnownProvider) {
    const metadata = yield* provider.metadata
    const times = { [oidc.clockSkew]: yield* clockSkew, [oidc.clockTolerance]: SKEW_SECONDS }
    const authentication = authenticationOf(provider, metadata)
    const configuration = new oidc.Configuration(metadata, provider.clientId, times, authentication)
    for (const enable of [oidc.enableNonRepudiationChecks, ...insecureIf(provider)]) enable(configuration)
    const keySet = keySets.get(provider.id)
    if (keySet !== undefined) oidc.setJwksCache(configuration, keySet)
    return configuration
  })

  const exchange = Effect.fnUntraced(function*(provider: KnownProvider, callback: URL, checks: SignInChecks) {
    const configuration = yield* configurationOf(provider)
    const { issuer, userinfo_endpoint } = configuration.serverMetadata()
    const checked = <A>(use: () => Promise<A>) =>
      call((fetch) => {
        configuration[oidc.customFetch] = fetch
        return use()
      }).pipe(Effect.catch((error) => refused(provider, error)))
    const tokens = yield* checked(() =>
      oidc.authorizationCodeGrant(configuration, callback, {
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.verifier,
        idTokenExpected: true
      })
    )
    const keySet = oidc.getJwksCache(configuration)
    if (keySet !== undefined) keySets.set(provider.id, keySet)
    const claims = tokens.claims()
    if (claims === undefined) return yield* notAccepted()
    const isComplete = claims["email"] !== undefined && claims["email_verified"] !== undefined
    // One document states both the address and that it is verified.
    const profile = isComplete || userinfo_endpoint === undefined
      ? claims
      : yield* checked(() => oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub))
    const signed = { ...Struct.omit(claims, PROFILE), ...Struct.pick(profile, PROFILE) }
    return yield* identityOf(signed, { clientId: provider.clientId, issuer })
  })

  const openIdConnect: OpenIdConnect = {
    begin: Effect.fnUntraced(function*(id, redirectUri, { nonce, state, verifier }) {
      const configuration = yield* configurationOf(yield* find(id))
      return oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri.href,
        scope: "openid email profile",
        state,
        nonce,
        code_challenge: yield* Effect.promise(() => oidc.calculatePKCECodeChallenge(verifier)),
        code_challenge_method: "S256"
      })
    }),
    finish: Effect.fnUntraced(function*(id, callback, checks) {
      const provider = yield* find(id)
      const identity = yield* exchange(provider, callback, checks).pipe(
        calls.withPermitsIfAvailable(1)
      )
      return yield* Effect.mapError(Effect.fromOption(identity), () => new ProviderBusy())
    }),
    status: Effect.forEach(known, ({ issuer, metadata }) => stateOf(issuer, metadata), { concurrency: "unbounded" })
  }
  return openIdConnect
})
