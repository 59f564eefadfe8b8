import { Clock, Effect, Option, Schema } from "effect"
import { decodeProtectedHeader, jwtVerify, type JWTVerifyGetKey } from "jose"
import { isCodePointLength, WellFormedString } from "../../schema/Text.ts"
import { Email } from "../../schema/User.ts"
import { ProviderEmailUnverified, SignInRefused } from "../DomainErrors.ts"

/** No shared secret, and never `none` (RFC 8725, 3.1). */
const ALGORITHMS = ["RS256", "ES256"] as const

const SKEW_SECONDS = 60

const LONGEST_LIFE_SECONDS = 24 * 60 * 60

const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

const Header = Schema.Struct({ alg: Schema.Literals(ALGORITHMS), kid: Schema.optionalKey(Schema.String) })

const decodeHeader = Schema.decodeUnknownEffect(Header)

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
export type Claims = typeof Claims.Type

const decodeClaims = Schema.decodeUnknownEffect(Claims)

export const notAccepted = () => new SignInRefused()

const unverifiedHeader = Option.liftThrowable(decodeProtectedHeader)

/** Codes of some providers have three parts, too; only a JWT has a header. */
export const isJwt = (text: string) => JWT.test(text) && Option.isSome(unverifiedHeader(text))

export const keyIdOf = (token: string) =>
  Effect.fromOption(JWT.test(token) ? unverifiedHeader(token) : Option.none()).pipe(
    Effect.flatMap(decodeHeader),
    Effect.mapBoth({ onFailure: notAccepted, onSuccess: ({ kid }) => kid })
  )

/** OpenID Connect Core, 3.1.3.7, and a verified address. */
export const verifyIdToken = Effect.fnUntraced(function*(token: string, expected: {
  readonly keys: JWTVerifyGetKey
  readonly issuers: Array<string>
  readonly clientId: string
}) {
  const now = yield* Clock.currentTimeMillis
  const { payload } = yield* Effect.tryPromise({
    try: () =>
      jwtVerify(token, expected.keys, {
        algorithms: [...ALGORITHMS],
        issuer: expected.issuers,
        audience: expected.clientId,
        requiredClaims: ["exp", "iat", "sub", "email"],
        clockTolerance: SKEW_SECONDS,
        currentDate: new Date(now)
      }),
    catch: notAccepted
  })
  const claims = yield* Effect.mapError(decodeClaims(payload), notAccepted)
  if (!isForUs(claims, expected.clientId) || !isTimely(claims, now / 1000)) return yield* notAccepted()
  if (claims.email_verified !== true && claims.email_verified !== "true") {
    return yield* new ProviderEmailUnverified()
  }
  return claims
})

/** With a sole audience `azp` may be another client: Google names the app that requested a token for its server. */
const isForUs = ({ aud, azp }: Claims, clientId: string) =>
  azp === clientId || [aud].flat().every((audience) => audience === clientId)

/** Clock skew is for tokens from the future only: an expired one is never accepted. */
const isTimely = ({ exp, iat }: Claims, now: number) =>
  exp > now && iat <= now + SKEW_SECONDS && exp - iat <= LONGEST_LIFE_SECONDS
