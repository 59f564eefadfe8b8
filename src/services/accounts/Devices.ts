import { Clock, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { emailKey } from "../identity/Users.ts"
import { derivedKey } from "../operations/Keys.ts"
import { signedTokens } from "./Sessions.ts"

export const DEVICE_LIFETIME = Duration.days(180)

/** `iat` is in seconds with decimals, because it is compared with the time of revocation. */
const Claims = Schema.Struct({
  sub: Schema.FiniteFromString.pipe(Schema.decodeTo(UserId)),
  jti: Schema.String,
  iat: Schema.Finite
})

const decodeClaims = Schema.decodeUnknownOption(Claims)

/**
 * Devices that have signed in (OWASP, Slow Down Online Guessing Attacks with Device Cookies). Each has its own limit
 * for wrong passwords, so that attackers cannot lock the owner out. Its token proves nothing else.
 */
export class Devices extends Context.Service<Devices, {
  readonly remember: (userId: UserId) => Effect.Effect<string>
  /** Returns the device's id; none for a token that is forged, expired, revoked, or of another address. */
  readonly recognise: (token: string, email: string) => Effect.Effect<Option.Option<string>>
}>()("route-planning-service/Devices") {
  static readonly layer = Layer.effect(
    Devices,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const tokens = signedTokens({
        audience: "route-planning-service/device",
        key: yield* derivedKey("device"),
        lifetime: DEVICE_LIFETIME
      })

      return Devices.of({
        remember: Effect.fnUntraced(function*(userId) {
          const now = (yield* Clock.currentTimeMillis) / 1000
          const id = yield* random.uuidV4()
          return tokens.sign(tokens.payloadOf({ sub: String(userId), jti: id }, now))
        }),

        recognise: Effect.fnUntraced(function*(token, email) {
          const claims = yield* tokens.verify(token).pipe(
            Effect.map(decodeClaims),
            Effect.orElseSucceed(() => Option.none())
          )
          if (Option.isNone(claims)) return Option.none()
          const { iat, jti, sub } = claims.value
          const rows = yield* sql`
            SELECT 1 FROM users WHERE id = ${sub} AND email_key = ${emailKey(email)}
              AND (devices_revoked_at IS NULL OR devices_revoked_at <= ${new Date(Math.round(iat * 1000))})`
          return rows.length > 0 ? Option.some(jti) : Option.none()
        }, Effect.orDie)
      })
    })
  )
}
