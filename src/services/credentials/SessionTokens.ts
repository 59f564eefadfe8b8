import { Clock, Config, Context, DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { jwtVerify, SignJWT } from "jose"
import { SessionId, UserId } from "../../schema/Ids.ts"
import { SESSION_TOKEN_LIFETIME } from "../../schema/Limits.ts"
import { DEFAULT_UNITS } from "../../schema/Preferences.ts"
import { Role } from "../../schema/User.ts"

const ISSUER = "route-planning-service"
const AUDIENCE = "route-planning-service/session"
const ALGORITHM = "HS256"

/**
 * `role` and `units` are hints for clients: what a caller may do is read from the database on each request. A token that
 * an older process signed may lack `units`.
 */
const Claims = Schema.Struct({
  sub: Schema.FiniteFromString.pipe(Schema.decodeTo(UserId)),
  sid: SessionId,
  role: Role,
  units: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed(DEFAULT_UNITS)))
})
export type Claims = typeof Claims.Type

const decodeClaims = Schema.decodeUnknownOption(Claims)
const encodeClaims = Schema.encodeSync(Claims)

/** Imported once: of bytes the library would make a key anew for each token. */
const hmacKey = (secret: Redacted.Redacted) =>
  Effect.promise(() =>
    crypto.subtle.importKey(
      "raw",
      new TextEncoder().encode(Redacted.value(secret)),
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["sign", "verify"]
    )
  )

/** The JWT that a session travels as: HS256 with `JWT_SECRET`, and nothing but HS256 (RFC 8725, 3.1). */
export class SessionTokens extends Context.Service<SessionTokens, {
  readonly sign: (claims: Claims) => Effect.Effect<string>
  /** The claims of a token that is ours and not expired, else none. */
  readonly verify: (token: string) => Effect.Effect<Option.Option<Claims>>
}>()("route-planning-service/SessionTokens") {
  static readonly layer = Layer.effect(
    SessionTokens,
    Effect.gen(function*() {
      const secret = yield* hmacKey(yield* Config.Redacted("JWT_SECRET"))

      return SessionTokens.of({
        sign: Effect.fnUntraced(function*(claims) {
          const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
          return yield* Effect.promise(() =>
            new SignJWT(encodeClaims(claims))
              .setProtectedHeader({ alg: ALGORITHM, typ: "JWT" })
              .setIssuer(ISSUER)
              .setAudience(AUDIENCE)
              .setIssuedAt(now)
              .setExpirationTime(now + Duration.toSeconds(SESSION_TOKEN_LIFETIME))
              .sign(secret)
          )
        }),
        verify: Effect.fnUntraced(function*(token) {
          const currentDate = yield* DateTime.nowAsDate
          return yield* Effect.tryPromise(() =>
            jwtVerify(token, secret, {
              algorithms: [ALGORITHM],
              issuer: ISSUER,
              audience: AUDIENCE,
              typ: "JWT",
              requiredClaims: ["exp", "iat", "sub"],
              currentDate
            })
          ).pipe(
            Effect.map(({ payload }) => decodeClaims(payload)),
            Effect.orElseSucceed(() => Option.none())
          )
        })
      })
    })
  )
}
