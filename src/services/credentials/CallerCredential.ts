import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type Credential, CREDENTIAL_LIMITS, Scope } from "../../schema/Credential.ts"
import { SessionId, TokenId, UserId } from "../../schema/Ids.ts"
import type { Principal } from "../../schema/Principal.ts"
import { settings } from "../settings/Registry.ts"
import { TimestampColumn } from "../sql/Columns.ts"
import { traced } from "../tracing/Traced.ts"

const Row = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  scope: Scope,
  expiresAt: Schema.NullOr(TimestampColumn),
  userId: UserId,
  handle: Schema.String
})

/** What a principal was authenticated by. */
export class CallerCredential extends Context.Service<CallerCredential, {
  readonly describe: (principal: Principal) => Effect.Effect<Credential>
}>()("route-planning-service/CallerCredential") {
  static readonly layer = Layer.effect(
    CallerCredential,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const limits = (yield* settings.RATE_LIMITS_ENABLED) ? CREDENTIAL_LIMITS : []
      const owner = sql.literal("u.id AS \"userId\", u.handle")

      const findToken = SqlSchema.findOne({
        Request: TokenId,
        Result: Row,
        execute: (id) =>
          sql`
            SELECT t.name, t.scope, t.expires_at AS "expiresAt", ${owner}
            FROM personal_access_tokens t JOIN users u ON u.id = t.user_id WHERE t.id = ${id}`
      })

      const findSession = SqlSchema.findOne({
        Request: SessionId,
        Result: Row,
        execute: (id) =>
          sql`
            SELECT NULL AS name, 'write' AS scope, s.expires_at AS "expiresAt", ${owner}
            FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ${id}`
      })

      return CallerCredential.of({
        describe: traced("CallerCredential.describe")(function*(principal) {
          const row = yield* principal.kind === "token"
            ? findToken(principal.tokenId)
            : findSession(principal.sessionId)
          const { expiresAt, handle, name, scope, userId } = row
          const credential: Credential = {
            kind: principal.kind,
            scope,
            name,
            expiresAt,
            user: { id: userId, handle },
            limits
          }
          return credential
        }, Effect.orDie)
      })
    })
  )
}
