import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { actedOn, Audit } from "../audit/Audit.ts"
import { Sessions } from "../credentials/Sessions.ts"
import { Missing, NothingToCancel } from "../DomainErrors.ts"
import { lockedUser } from "../identity/AccountState.ts"
import { users } from "../identity/UserRecord.ts"
import { deletionCutoffAt } from "../retention/DeletionCutoff.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { makeSharedTime } from "../time/SharedTime.ts"
import { traced } from "../tracing/Traced.ts"

export class AccountDeletion extends Context.Service<AccountDeletion, {
  /**
   * Hides the account from every read at once, ends its sessions and disables its tokens. A repeated request keeps the
   * first date and ends sessions started since. Audited as by its owner, or by `by`.
   */
  readonly request: (userId: UserId, by?: UserId) => Effect.Effect<void, Missing>
  /** Cancels the deletion and restores all it hid. Fails when none is pending, or the grace period is over. */
  readonly cancel: (userId: UserId) => Effect.Effect<void, NothingToCancel>
}>()("route-planning-service/AccountDeletion") {
  static readonly layer = Layer.effect(
    AccountDeletion,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const sessions = yield* Sessions
      const sharedTime = yield* makeSharedTime

      const lockUser = SqlSchema.findOneOption({
        Request: UserId,
        Result: Schema.Struct({ isPending: Schema.Boolean }),
        execute: (id) => lockedUser(sql, `deletion_requested_at IS NOT NULL AS "isPending"`, sql`id = ${id}`)
      })

      return AccountDeletion.of({
        request: traced("AccountDeletion.request")(
          function*(userId, by = userId) {
            const found = yield* lockUser(userId)
            if (Option.isNone(found)) return yield* new Missing({ kind: "user" })
            yield* sessions.revokeAll(userId, { by })
            if (found.value.isPending) return
            const now = new Date(yield* sharedTime)
            yield* sql`UPDATE users SET ${users.set(sql, { deletionRequestedAt: now })} WHERE id = ${userId}`
            yield* audit.record("account.deletion_requested", actedOn(userId, by))
          },
          sql.withTransaction,
          databaseDefects
        ),

        cancel: traced("AccountDeletion.cancel")(
          function*(userId) {
            const cutoff = deletionCutoffAt(yield* sharedTime)
            const rows = yield* sql`
              UPDATE users SET ${users.set(sql, { deletionRequestedAt: null })}
              WHERE id = ${userId} AND deletion_requested_at > ${cutoff} RETURNING id`
            if (rows.length === 0) return yield* new NothingToCancel()
            yield* audit.record("account.deletion_cancelled", { userId })
          },
          sql.withTransaction,
          databaseDefects
        )
      })
    })
  )
}
