import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Conflict } from "../schema/Errors.ts"
import type { UserId } from "../schema/Ids.ts"
import { graceBegan } from "./GraceWindow.ts"
import { Sessions } from "./Sessions.ts"

/** Leaving: with 30 days to come back, and then without a trace. */
export class AccountDeletion extends Context.Service<AccountDeletion, {
  /**
   * Asks for an account to be deleted. It is hidden at once, by the predicates of every read; its sessions end, its tokens
   * stop. Asked again it stays with the first time.
   */
  readonly request: (userId: UserId) => Effect.Effect<void>
  /** Takes it back, and with it everything that it hid. `Conflict` when there is nothing to take back, or no longer. */
  readonly cancel: (userId: UserId) => Effect.Effect<void, Conflict>
  /** Erases one account that is due, as a whole; false when there is none. Any number of callers may do so at once. */
  readonly eraseNext: Effect.Effect<boolean>
}>()("route-planning-service/AccountDeletion") {
  static readonly layer = Layer.effect(
    AccountDeletion,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const sessions = yield* Sessions

      return AccountDeletion.of({
        request: Effect.fn("AccountDeletion.request")(
          function*(userId) {
            const now = new Date(yield* Clock.currentTimeMillis)
            yield* sql`
            UPDATE users SET deletion_requested_at = ${now}, updated_at = ${now}
            WHERE id = ${userId} AND deletion_requested_at IS NULL`
            yield* sessions.revokeAll(userId)
          },
          sql.withTransaction,
          Effect.orDie
        ),

        cancel: Effect.fn("AccountDeletion.cancel")(function*(userId) {
          const now = new Date(yield* Clock.currentTimeMillis)
          const rows = yield* sql`
            UPDATE users SET deletion_requested_at = NULL, updated_at = ${now}
            WHERE id = ${userId} AND deletion_requested_at > ${yield* graceBegan} RETURNING id`
          if (rows.length === 0) return yield* new Conflict({ message: "There is no deletion to cancel" })
        }, Effect.catchTag("SqlError", Effect.die)),

        // Everything that is somebody's refers to their row, and goes with it.
        eraseNext: Effect.gen(function*() {
          const rows = yield* sql`
            DELETE FROM users WHERE id = (
              SELECT id FROM users WHERE deletion_requested_at <= ${yield* graceBegan}
              ORDER BY deletion_requested_at LIMIT 1 FOR UPDATE SKIP LOCKED
            ) RETURNING id`
          return rows.length > 0
        }).pipe(Effect.orDie, Effect.withSpan("AccountDeletion.eraseNext"))
      })
    })
  )
}
