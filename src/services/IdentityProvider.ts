import { Cache, Clock, Config, Context, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { createHash } from "node:crypto"
import { type BadGateway, Forbidden, type GatewayTimeout, Unauthorized, Unavailable } from "../schema/Errors.ts"
import { WellFormedString } from "../schema/Text.ts"
import { Email } from "../schema/User.ts"
import { ProviderKeys } from "./ProviderKeys.ts"
import { ask, askFor } from "./Upstream.ts"

/** Who signs in, as a provider vouches for it. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly name: string | undefined
  /** An https URL. */
  readonly picture: string | undefined
  /** By which the ID token is known again, until it expires. */
  readonly tokenHash: string
  readonly expiresAt: Date
}

/** What a front end got from the provider. */
export type ProviderCredential = { readonly code: Redacted.Redacted } | { readonly idToken: Redacted.Redacted }

type Failure = Unauthorized | Forbidden | BadGateway | Unavailable | GatewayTimeout

const GOOGLE = "https://accounts.google.com"

const PROVIDER = { name: "The identity provider", timeout: "5 seconds", maxBytes: 1024 * 1024 } as const

const METADATA_LIFETIME = Duration.hours(1)

/** An ID token speaks of a sign-in that just was. */
const MAX_LIFETIME_SECONDS = 24 * 60 * 60
const TOLERANCE_SECONDS = 60

/** OpenID Connect Discovery 1.0, 3: what of it we use. */
const Metadata = Schema.Struct({
  issuer: Schema.String,
  token_endpoint: Schema.String,
  jwks_uri: Schema.String
})

const TokenResponse = Schema.Struct({ id_token: Schema.String })

/** OpenID Connect Core 1.0, 2 and 5.1. Some providers spell the boolean as a string. */
const Claims = Schema.Struct({
  sub: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)),
  email: Email,
  email_verified: Schema.Union([Schema.Boolean, Schema.Literals(["true", "false"])]),
  iat: Schema.Finite,
  exp: Schema.Finite,
  azp: Schema.optionalKey(Schema.String),
  aud: Schema.Union([Schema.String, Schema.Array(Schema.String)]),
  name: Schema.optionalKey(Schema.Unknown),
  picture: Schema.optionalKey(Schema.Unknown)
})
type Claims = typeof Claims.Type

const notAccepted = new Unauthorized({ message: "The sign-in was not accepted" })

/** Sign-in by an OpenID Connect provider that is found by discovery; by default Google. */
export class IdentityProvider extends Context.Service<IdentityProvider, {
  /**
   * Exchanges a code, verifies the ID token, and tells whose it is. `Unauthorized` for whatever the provider did not
   * sign for us just now, `Forbidden` for an email address that it has not verified; the rest when it is away, slow or
   * gives garbage.
   */
  readonly identify: (credential: ProviderCredential) => Effect.Effect<Identity, Failure>
}>()("route-planning-service/IdentityProvider") {
  static readonly layer = Layer.effect(
    IdentityProvider,
    Effect.gen(function*() {
      const issuer = (yield* Config.URL("GOOGLE_ISSUER").pipe(Config.withDefault(new URL(GOOGLE)))).href.replace(
        /\/$/,
        ""
      )
      const clientId = yield* Config.option(Config.NonEmptyString("GOOGLE_CLIENT_ID"))
      const clientSecret = yield* Config.option(Config.Redacted("GOOGLE_CLIENT_SECRET"))
      if (Option.isNone(clientId) || Option.isNone(clientSecret)) {
        return IdentityProvider.of({ identify: () => notConfigured })
      }
      return yield* makeProvider(issuer, clientId.value, clientSecret.value)
    })
  ).pipe(Layer.provide(ProviderKeys.layer))
}

const notConfigured = Effect.fail(
  new Unavailable({ message: "Sign-in by an identity provider is not configured here" })
)

const makeProvider = Effect.fnUntraced(function*(issuer: string, clientId: string, clientSecret: Redacted.Redacted) {
  const client = yield* HttpClient.HttpClient
  const keys = yield* ProviderKeys

  const metadata = yield* Cache.makeWith(
    (issuer: string) =>
      askFor(client, HttpClientRequest.get(`${issuer}/.well-known/openid-configuration`), PROVIDER, metadataOf(issuer)),
    { capacity: 1, timeToLive: (exit) => exit._tag === "Success" ? METADATA_LIFETIME : Duration.zero }
  )

  // The popup flow's redirect URI is the word `postmessage`.
  const exchange = Effect.fnUntraced(function*(code: Redacted.Redacted) {
    const { token_endpoint } = yield* Cache.get(metadata, issuer)
    const request = HttpClientRequest.post(token_endpoint).pipe(
      HttpClientRequest.bodyUrlParams({
        grant_type: "authorization_code",
        code: Redacted.value(code),
        client_id: clientId,
        client_secret: Redacted.value(clientSecret),
        redirect_uri: "postmessage"
      })
    )
    const { body, status } = yield* ask(client, request, PROVIDER)
    if (status !== 200) return yield* notAccepted
    const { id_token } = yield* Effect.mapError(Schema.decodeUnknownEffect(TokenResponse)(body), () => notAccepted)
    return id_token
  })

  const idTokenOf = (credential: ProviderCredential) => {
    if ("idToken" in credential) return Effect.succeed(Redacted.value(credential.idToken))
    const code = Redacted.value(credential.code)
    return isJwt(code) ? Effect.succeed(code) : exchange(credential.code)
  }

  const verify = Effect.fnUntraced(function*(token: string) {
    const { jwks_uri } = yield* Cache.get(metadata, issuer)
    const payload = yield* keys.verify(token, {
      keysAt: jwks_uri,
      issuer: issuer === GOOGLE ? [GOOGLE, new URL(GOOGLE).host] : [issuer, `${issuer}/`],
      audience: clientId
    })
    const claims = yield* Effect.mapError(Schema.decodeUnknownEffect(Claims)(payload), () => notAccepted)
    const now = (yield* Clock.currentTimeMillis) / 1000
    return isForUsNow(claims, clientId, now) ? claims : yield* notAccepted
  })

  return IdentityProvider.of({
    identify: Effect.fn("IdentityProvider.identify")(function*(credential) {
      const token = yield* idTokenOf(credential)
      const claims = yield* verify(token)
      if (!isTrue(claims.email_verified)) {
        return yield* new Forbidden({ message: "The identity provider has not verified the email address" })
      }
      return {
        issuer,
        subject: claims.sub,
        email: claims.email,
        name: displayNameIn(claims.name),
        picture: pictureIn(claims.picture),
        tokenHash: createHash("sha256").update(token).digest("base64url"),
        expiresAt: new Date((claims.exp + TOLERANCE_SECONDS) * 1000)
      }
    })
  })
})

/** A document that speaks for another issuer is not the one that was asked for (OpenID Connect Discovery 1.0, 4.3). */
const metadataOf = (issuer: string) =>
  Metadata.check(Schema.makeFilter((document) => document.issuer.replace(/\/$/, "") === issuer))

const isJwt = (text: string) => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)

const isTrue = (value: boolean | string) => value === true || value === "true"

/** OpenID Connect Core 1.0, 3.1.3.7: a token for several is for us only if it was made for us. */
const isForUsNow = ({ aud, azp, exp, iat }: Claims, clientId: string, now: number) =>
  (typeof aud === "string" || aud.length === 1 || azp === clientId)
  && iat <= now + TOLERANCE_SECONDS
  && exp - iat <= MAX_LIFETIME_SECONDS

const MAX_NAME = 100

const isText = Schema.is(WellFormedString)

const displayNameIn = (name: unknown): string | undefined => {
  if (!isText(name)) return undefined
  const text = [...name.replace(/\p{Cc}+/gu, " ").trim()].slice(0, MAX_NAME).join("").trim()
  return text === "" ? undefined : text
}

const MAX_PICTURE = 2048

const pictureIn = (picture: unknown): string | undefined => {
  if (!isText(picture) || picture.length > MAX_PICTURE) return undefined
  const url = URL.parse(picture)
  return url?.protocol === "https:" && url.username === "" && url.password === "" ? url.href : undefined
}
