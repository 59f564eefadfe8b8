import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { makeSharedTime } from "../db/SharedTime.ts"
import {
  deletionCutoffAt,
  earliestIn,
  erasureDueAt,
  plus,
  runSweep,
  scheduled,
  sweepEach,
  type Swept,
  sweptAt
} from "../db/Sweeps.ts"
import { Missing, NothingToCancel } from "../DomainErrors.ts"
import { actedOn, Audit } from "../identity/Audit.ts"
import { isErasureDue, lockedUser, UserRecord, users } from "../identity/Users.ts"
import { MailQuota, Outbox } from "../mail/Outbox.ts"
import { settings } from "../operations/SettingsRegistry.ts"
import { configuredSite } from "../texts/Site.ts"
import { mailedLink } from "./MailedLinks.ts"
import { Sessions } from "./Sessions.ts"

export class AccountDeletion extends Context.Service<AccountDeletion, {
  /**
   * Hides the account from every read at once, ends its sessions, disables its tokens and mails its owner. A repeated
   * request keeps the first date and ends sessions started since. The audit names the owner, or `by`.
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
      const outbox = yield* Outbox
      const sessions = yield* Sessions
      const sharedTime = yield* makeSharedTime

      const { deletion: mail } = (yield* configuredSite).texts.mails
      const page = mailedLink(yield* settings.BASE_URL, "me/cancel-deletion")
      const hasPages = yield* settings.PAGES_ENABLED

      const lockUser = SqlSchema.findOneOption({
        Request: UserId,
        Result: Schema.Struct({ email: Schema.String, isPending: Schema.Boolean }),
        execute: (id) => lockedUser(sql, `email, deletion_requested_at IS NOT NULL AS "isPending"`, sql`id = ${id}`)
      })

      // The trigger does not see routes that others add to their collections during the transaction.
      const relist = (userId: UserId) =>
        sql.afterCommit(Effect.orDie(Effect.asVoid(sql`
          SELECT relist_for_others(${userId}, (SELECT array_agg(id) FROM routes WHERE user_id = ${userId}))`)))

      return AccountDeletion.of({
        request: Effect.fnUntraced(
          function*(userId, by = userId) {
            const found = yield* lockUser(userId)
            if (Option.isNone(found)) return yield* new Missing({ kind: "user" })
            yield* sessions.revokeAll(userId, { by })
            if (found.value.isPending) return
            const now = new Date(yield* sharedTime)
            yield* sql`UPDATE users SET ${users.set(sql, { deletionRequestedAt: now })} WHERE id = ${userId}`
            yield* audit.record("account.deletion_requested", actedOn(userId, by))
            yield* outbox.put(userId, {
              to: found.value.email,
              subject: mail.subject,
              text: `${mail[by === userId ? "byOwner" : "byAdministrator"]} ${mail.text(erasureDueAt(now))}`,
              link: hasPages ? page : undefined,
              linkText: mail.linkText,
              ifNotYou: by === userId ? mail.ifNotYou : undefined
            })
            yield* relist(userId)
          },
          sql.withTransaction,
          databaseDefects
        ),

        cancel: Effect.fnUntraced(
          function*(userId) {
            const cutoff = deletionCutoffAt(yield* sharedTime)
            const rows = yield* sql`
              UPDATE users SET ${users.set(sql, { deletionRequestedAt: null })}
              WHERE id = ${userId} AND deletion_requested_at > ${cutoff} RETURNING id`
            if (rows.length === 0) return yield* new NothingToCancel()
            yield* audit.record("account.deletion_cancelled", { userId })
            yield* relist(userId)
          },
          sql.withTransaction,
          databaseDefects
        )
      })
    })
  )
}

const BATCH = 100

/** Erases accounts: no table keeps their personal data. */
export class AccountErasure extends Context.Service<AccountErasure, {
  /** Erases each account in a transaction, also concurrently. One that fails is retried and delays no other. */
  readonly eraseDue: Effect.Effect<Swept>
  /** Returns when the next account is due, which may be in the past. */
  readonly earliestDue: Effect.Effect<Option.Option<Date>>
}>()("route-planning-service/AccountErasure") {
  static readonly layer = Layer.effect(
    AccountErasure,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const mailQuota = yield* MailQuota
      const sharedTime = yield* makeSharedTime

      const findDue = SqlSchema.findAll({
        Request: Schema.Struct({ cutoff: Schema.Date, skipped: Schema.Array(UserId) }),
        Result: UserRecord.select.mapFields(Struct.pick(["id"])),
        execute: ({ cutoff, skipped }) =>
          sql`
            SELECT id FROM users WHERE ${isErasureDue(sql, cutoff)}
              AND ${skipped.length === 0 ? sql`true` : sql`NOT ${sql.in("id", skipped)}`}
            ORDER BY deletion_requested_at LIMIT ${BATCH}`
      })

      const findEarliest = earliestIn(sql`SELECT min(deletion_requested_at) AS earliest FROM users`)

      const lockSignUps = SqlSchema.findAll({
        Request: Schema.Struct({ id: UserId, cutoff: Schema.Date }),
        Result: Schema.Struct({ id: Schema.Int }),
        execute: ({ cutoff, id }) =>
          sql`
            SELECT id::float8 AS id FROM sign_ups WHERE email_key IN (
              SELECT email_key FROM users WHERE id = ${id} AND ${isErasureDue(sql, cutoff)}
            ) ORDER BY id FOR UPDATE`
      })

      const deleteUser = SqlSchema.findAll({
        Request: Schema.Struct({ id: UserId, cutoff: Schema.Date }),
        Result: Schema.Struct({ email: Schema.String }),
        execute: ({ cutoff, id }) =>
          sql`
            DELETE FROM users WHERE id = (
              SELECT id FROM users WHERE id = ${id} AND ${isErasureDue(sql, cutoff)} FOR UPDATE SKIP LOCKED
            ) RETURNING email`
      })

      // A large account takes longer than the statement timeout of 5 seconds. The audit entry names no user.
      const erase = Effect.fnUntraced(
        function*(id: UserId, cutoff: Date) {
          yield* sql`SET LOCAL statement_timeout = 0`
          // Sign-ups are locked before the user, as a use of a mailed link does.
          const signUps = yield* lockSignUps({ id, cutoff })
          const gone = yield* deleteUser({ id, cutoff })
          yield* Effect.forEach(gone, ({ email }) => mailQuota.forget(email), { discard: true })
          if (gone.length > 0) {
            yield* sql`DELETE FROM sign_ups WHERE ${sql.in("id", signUps.map(({ id }) => id))}`
            yield* audit.record("account.erased")
          }
          return { rows: gone.length, lagMillis: 0 }
        },
        sql.withTransaction,
        Effect.uninterruptible
      )

      const stillDue = (cutoff: Date) =>
        Effect.map(findEarliest, (earliest) => ({ ...sweptAt(cutoff.getTime(), Option.toArray(earliest)), rows: 0 }))

      return AccountErasure.of({
        earliestDue: findEarliest.pipe(
          Effect.map(Option.map(erasureDueAt)),
          Effect.orDie,
          Effect.withSpan("AccountErasure.earliestDue")
        ),
        eraseDue: sharedTime.pipe(
          Effect.map(deletionCutoffAt),
          Effect.flatMap((cutoff) =>
            Effect.zipWith(
              sweepEach(
                "accounts",
                (skipped: ReadonlyArray<UserId>) => findDue({ cutoff, skipped }),
                (id) => erase(id, cutoff)
              ),
              stillDue(cutoff),
              plus
            ).pipe(Effect.orDie)
          )
        )
      })
    })
  )
}

export const erasureLayer = Layer.effectDiscard(Effect.gen(function*() {
  const { earliestDue, eraseDue } = yield* AccountErasure
  yield* scheduled({
    longestSleep: settings.ERASURE_SWEEP_INTERVAL,
    run: runSweep("accounts", eraseDue),
    earliestDue
  })
}))
