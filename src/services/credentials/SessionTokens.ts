import { Cache, Clock, Context, Duration, Effect, Exit, Layer, Option, Redacted, Schema } from "effect"
import { SessionId, UserId } from "../../schema/Ids.ts"
import { SESSION_TOKEN_LIFETIME } from "../../schema/Limits.ts"
import { DEFAULT_UNITS } from "../../schema/Preferences.ts"
import { Role } from "../../schema/User.ts"
import { ownText } from "../keys/OwnText.ts"
import { settings } from "../settings/Registry.ts"
import { signedTokens } from "./SignedTokens.ts"

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

/** Imported once: from bytes the library would import a key for each token. */
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

/** A token whose signature and claims are those of this service; `expiresAt` is its `exp`, in seconds. */
interface VerifiedToken {
  readonly claims: Claims
  readonly expiresAt: number
}

/** One that was signed or verified here is not verified again. Each request reads from the database whether its session lives. */
const MAX_KNOWN_TOKENS = 10_000

/** The JWT that a session travels as, signed with `JWT_SECRET`. */
export class SessionTokens extends Context.Service<SessionTokens, {
  readonly sign: (claims: Claims) => Effect.Effect<string>
  /** The claims of a token that this service signed and that has not expired, else none. */
  readonly verify: (token: string) => Effect.Effect<Option.Option<Claims>>
}>()("route-planning-service/SessionTokens") {
  static readonly layer = Layer.effect(
    SessionTokens,
    Effect.gen(function*() {
      const tokens = signedTokens({
        audience: "route-planning-service/session",
        key: yield* hmacKey(yield* settings.JWT_SECRET),
        lifetime: SESSION_TOKEN_LIFETIME
      })

      const verified = yield* Cache.makeWith(
        (token: string) =>
          Effect.gen(function*() {
            const payload = yield* tokens.verify(token)
            const claims = yield* Effect.fromOption(decodeClaims(payload))
            return { claims, expiresAt: payload.exp ?? 0 } satisfies VerifiedToken
          }),
        {
          capacity: MAX_KNOWN_TOKENS,
          timeToLive: (exit) => Exit.isSuccess(exit) ? SESSION_TOKEN_LIFETIME : Duration.zero
        }
      )

      return SessionTokens.of({
        sign: Effect.fnUntraced(function*(claims) {
          const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
          const expiresAt = now + Duration.toSeconds(SESSION_TOKEN_LIFETIME)
          const { role, sid, sub, units } = claims
          const encoded: typeof Claims.Encoded = { sub: String(sub), sid, role, units }
          const token = yield* tokens.sign(encoded, now)
          yield* Cache.set(verified, token, { claims, expiresAt })
          return token
        }),
        verify: Effect.fnUntraced(function*(token) {
          const known = yield* Effect.option(Cache.get(verified, ownText(token)))
          const now = yield* Clock.currentTimeMillis
          return known.pipe(
            Option.filter(({ expiresAt }) => now < expiresAt * 1000),
            Option.map(({ claims }) => claims)
          )
        })
      })
    })
  )
}
