import { DateTime, Duration, Effect } from "effect"
import { type CryptoKey, type JWTPayload, jwtVerify, SignJWT } from "jose"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"

const ALGORITHM = "HS256"
const TYPE = "JWT"

interface Purpose {
  readonly audience: string
  readonly key: CryptoKey | Uint8Array
  readonly lifetime: Duration.Duration
}

/** JWTs of this service for one audience: HS256, and nothing but HS256 (RFC 8725, 3.1). */
export const signedTokens = ({ audience, key, lifetime }: Purpose) => ({
  /** `issuedAt` is in seconds. */
  sign: (claims: JWTPayload & { readonly sub: string }, issuedAt: number) =>
    Effect.promise(() =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
        .setIssuer(SERVICE_NAME)
        .setAudience(audience)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + Duration.toSeconds(lifetime))
        .sign(key)
    ),

  verify: Effect.fnUntraced(function*(token: string) {
    const currentDate = yield* DateTime.nowAsDate
    const { payload } = yield* Effect.tryPromise(() =>
      jwtVerify(token, key, {
        algorithms: [ALGORITHM],
        issuer: SERVICE_NAME,
        audience,
        typ: TYPE,
        requiredClaims: ["exp", "iat", "sub"],
        currentDate
      })
    )
    return payload
  })
})
