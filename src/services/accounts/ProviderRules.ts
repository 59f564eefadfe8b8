import { Clock, Effect, Schema } from "effect"
import { isCodePointLength, WellFormedString, withoutFormat } from "../../schema/Text.ts"
import { Email, isAvatar, MAX_AVATAR, MAX_DISPLAY_NAME } from "../../schema/User.ts"
import { ProviderEmailUnverified, SignInRefused } from "../DomainErrors.ts"

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
  /** Never reassigned within an issuer (OpenID Connect Core, 2), unlike the address. */
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
