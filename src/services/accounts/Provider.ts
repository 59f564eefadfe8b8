import {
  Cache,
  Clock,
  Config,
  Context,
  DateTime,
  Duration,
  Effect,
  Exit,
  Layer,
  Option,
  Redacted,
  Ref,
  Schema,
  Semaphore
} from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JWTVerifyGetKey } from "jose"
import { AT_ONCE } from "../admission/Lanes.ts"
import { ProviderBusy, ProviderDisabled, ProviderNotConfigured } from "../DomainErrors.ts"
import { GOOGLE, settings } from "../operations/SettingsRegistry.ts"
import { requestJson, type UpstreamFailure } from "../operations/Upstream.ts"
import {
  type Identity,
  identityOf,
  makeDocument,
  makeOpenIdConnect,
  notAccepted,
  type OpenIdConnect,
  PROVIDER,
  type ProviderFailure,
  SKEW_SECONDS,
  stateOf,
  unusable
} from "./OpenIdConnect.ts"

/** RFC 8725, 3.1 excludes `none`, and these have no shared secret. */
const ALGORITHMS = ["RS256", "ES256"] as const

const LONGEST_LIFE_SECONDS = 24 * 60 * 60

const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

const Header = Schema.Struct({ alg: Schema.Literals(ALGORITHMS), kid: Schema.optionalKey(Schema.String) })

const decodeHeader = Schema.decodeUnknownEffect(Header)

const unverifiedHeader = Option.liftThrowable(decodeProtectedHeader)

/** Codes of some providers have three parts, too; only a JWT has a header. */
const isJwt = (text: string) => JWT.test(text) && Option.isSome(unverifiedHeader(text))

const keyIdOf = (token: string) =>
  Effect.fromOption(JWT.test(token) ? unverifiedHeader(token) : Option.none()).pipe(
    Effect.flatMap(decodeHeader),
    Effect.mapBoth({ onFailure: notAccepted, onSuccess: ({ kid }) => kid })
  )

const verifyIdToken = Effect.fnUntraced(function*(token: string, expected: {
  readonly keys: JWTVerifyGetKey
  readonly issuer: string
  readonly clientId: string
}) {
  const { clientId, issuer, keys } = expected
  const currentDate = yield* DateTime.nowAsDate
  const { payload } = yield* Effect.tryPromise({
    try: () =>
      jwtVerify(token, keys, {
        algorithms: [...ALGORITHMS],
        issuer: issuersOf(issuer),
        audience: clientId,
        requiredClaims: ["exp", "iat", "sub", "email"],
        clockTolerance: SKEW_SECONDS,
        currentDate
      }),
    catch: notAccepted
  })
  return yield* identityOf(payload, { clientId, issuer, longestLifeSeconds: LONGEST_LIFE_SECONDS })
})

/** The error omits the text of the provider. */
class ProviderRefused extends Schema.TaggedError<ProviderRefused>()("ProviderRefused", {
  status: Schema.Int
}) {}

const requestProvider = Effect.fnUntraced(function*<A>(
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  response: Schema.Codec<A, unknown>
) {
  const { body, status } = yield* requestJson(client, request, PROVIDER)
  if (status >= 400) return yield* new ProviderRefused({ status })
  return yield* Effect.mapError(Schema.decodeUnknownEffect(response)(body), unusable)
})

const Document = Schema.Struct({
  issuer: Schema.String,
  token_endpoint: Schema.URLFromString,
  jwks_uri: Schema.URLFromString
})

const decodeDocument = Schema.decodeUnknownEffect(Document)

const FRESH = Duration.minutes(10)

/** Two requests are at least this far apart, so that invented key ids do not burden the provider. */
const COOL_DOWN = Duration.seconds(30)

const parameters = {
  kid: Schema.optionalKey(Schema.String),
  use: Schema.optionalKey(Schema.String)
}

const Key = Schema.Union([
  Schema.Struct({
    ...parameters,
    kty: Schema.Literal("RSA"),
    alg: Schema.optionalKey(Schema.Literal("RS256")),
    n: Schema.String,
    e: Schema.String
  }),
  Schema.Struct({
    ...parameters,
    kty: Schema.Literal("EC"),
    alg: Schema.optionalKey(Schema.Literal("ES256")),
    crv: Schema.Literal("P-256"),
    x: Schema.String,
    y: Schema.String
  })
])

const decodeKey = Schema.decodeUnknownOption(Key)

const KeySet = Schema.Struct({ keys: Schema.Array(Schema.Unknown) })

interface Keys {
  readonly resolve: JWTVerifyGetKey
  readonly ids: ReadonlySet<string | undefined>
  readonly freshUntil: number
}

/**
 * Keys are cached for 10 minutes (OpenID Connect Core, 10.1.1), and stay valid during an outage of the provider. An
 * unknown id refreshes them, at most once in 30 seconds. Concurrent calls share one request.
 */
const makeProviderKeys = Effect.fnUntraced(function*(client: HttpClient.HttpClient) {
  const latest = yield* Ref.make(Option.none<Keys>())

  const fetch = Effect.fnUntraced(function*(url: string) {
    const { keys: all } = yield* requestProvider(client, HttpClientRequest.get(url), KeySet).pipe(
      Effect.catchTag("ProviderRefused", () => Effect.fail(unusable()))
    )
    // Keys of other kinds are ignored (RFC 7517, 5), as are unknown members.
    const keys = all.flatMap((key) => Option.toArray(decodeKey(key)))
    if (keys.length === 0) return yield* unusable()
    const fetched: Keys = {
      resolve: createLocalJWKSet({ keys }),
      ids: new Set(keys.map(({ kid }) => kid)),
      freshUntil: (yield* Clock.currentTimeMillis) + Duration.toMillis(FRESH)
    }
    yield* Ref.set(latest, Option.some(fetched))
    return fetched
  })

  const attempts = yield* Cache.makeWith(fetch, {
    capacity: 1,
    timeToLive: (exit) => Exit.isFailure(exit) && Option.isNone(Ref.getUnsafe(latest)) ? Duration.zero : COOL_DOWN
  })

  return Effect.fnUntraced(function*(url: URL, id: string | undefined) {
    const now = yield* Clock.currentTimeMillis
    const kept = Option.filter(yield* Ref.get(latest), ({ ids }) => id === undefined || ids.has(id))
    if (Option.isSome(kept) && now < kept.value.freshUntil) return kept.value.resolve
    const { resolve } = yield* Cache.get(attempts, url.href).pipe(
      Effect.catch((error) => Option.isSome(kept) ? Effect.succeed(kept.value) : Effect.fail(error))
    )
    return resolve
  })
})

export type ProviderCredential = { readonly code: Redacted.Redacted } | { readonly idToken: Redacted.Redacted }

/** Google's tokens may omit the scheme (Google Identity, "Verify the Google ID token"). */
const issuersOf = (issuer: string) => issuer === GOOGLE ? [GOOGLE, "accounts.google.com"] : [issuer]

const TokenResponse = Schema.Struct({ id_token: Schema.String })

export type CredentialFailure = ProviderFailure | ProviderNotConfigured

interface Client {
  readonly id: string
  readonly secret: Redacted.Redacted
  readonly document: Effect.Effect<typeof Document.Type, UpstreamFailure>
}

const makeCredentialCheck = Effect.fnUntraced(function*(http: HttpClient.HttpClient, client: Client) {
  const keysFor = yield* makeProviderKeys(http)
  const { document } = client
  const exchanges = yield* Semaphore.make(AT_ONCE.exchanges)

  const exchange = Effect.fnUntraced(function*(code: string) {
    const { token_endpoint } = yield* document
    const request = HttpClientRequest.post(token_endpoint).pipe(
      HttpClientRequest.bodyUrlParams({
        grant_type: "authorization_code",
        code,
        client_id: client.id,
        client_secret: Redacted.value(client.secret),
        // Google's popup and one-tap clients have no page to return to.
        redirect_uri: "postmessage"
      })
    )
    const { id_token } = yield* requestProvider(http, request, TokenResponse).pipe(
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

  return Effect.fnUntraced(function*(credential: ProviderCredential) {
    const token = yield* idTokenOf(credential)
    const keyId = yield* keyIdOf(token)
    const { issuer, jwks_uri } = yield* document
    const keys = yield* keysFor(jwks_uri, keyId)
    return yield* verifyIdToken(token, { keys, issuer, clientId: client.id })
  })
})

export class IdentityProvider extends Context.Service<
  IdentityProvider,
  OpenIdConnect & {
    /** A code is valid once, an ID token until it expires. */
    readonly identify: (credential: ProviderCredential) => Effect.Effect<Identity, CredentialFailure>
  }
>()("route-planning-service/IdentityProvider") {
  /** Fails with `ProviderDisabled` if switched off, `ProviderNotConfigured` without the client's id and secret. */
  static readonly layer = Layer.effect(
    IdentityProvider,
    Effect.gen(function*() {
      const id = yield* settings.GOOGLE_CLIENT_ID.pipe(Config.withDefault(""))
      const secret = yield* settings.GOOGLE_CLIENT_SECRET.pipe(Config.withDefault(Redacted.make("")))
      const issuer = yield* settings.GOOGLE_ISSUER
      const http = yield* HttpClient.HttpClient
      if (!(yield* settings.PROVIDER_SIGN_IN_ENABLED)) {
        return IdentityProvider.of({
          identify: disabled,
          begin: disabled,
          finish: disabled,
          status: Effect.succeed([])
        })
      }
      const byRedirect = yield* makeOpenIdConnect(http)
      if (id === "" || Redacted.value(secret) === "") {
        return IdentityProvider.of({ ...byRedirect, identify: notConfigured })
      }
      const document = yield* makeDocument(http, { clientId: id, issuer }, decodeDocument)
      return IdentityProvider.of({
        ...byRedirect,
        identify: yield* makeCredentialCheck(http, { id, secret, document }),
        status: Effect.zipWith(
          byRedirect.status,
          stateOf(issuer, document),
          (others, own) => [...others, own],
          { concurrent: true }
        )
      })
    })
  )
}

const disabled = () => Effect.fail(new ProviderDisabled())

const notConfigured = () => Effect.fail(new ProviderNotConfigured())

/** The status for a bad code is 400 (RFC 6749, 5.2); an operator must fix other statuses. */
const refusedExchange = Effect.fnUntraced(function*(status: number) {
  if (status !== 400) {
    yield* Effect.logWarning("code exchange refused").pipe(Effect.annotateLogs({ status }))
  }
  return yield* notAccepted()
})
