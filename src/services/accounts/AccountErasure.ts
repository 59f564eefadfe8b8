import { Config, Context, Duration, Effect, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { Audit } from "../audit/Audit.ts"
import { UserRecord } from "../identity/UserRecord.ts"
import { MailQuota } from "../mail/MailQuota.ts"
import { deletionCutoffAt, erasureDueAt } from "../retention/DeletionCutoff.ts"
import { nothingSwept, plus, runSweep, scheduled, sweepFailed, type Swept, sweptAt } from "../retention/Sweeps.ts"
import { period } from "../settings/SettingTypes.ts"
import { makeSharedTime } from "../time/SharedTime.ts"
import { traced } from "../tracing/Traced.ts"

const BATCH = 100

/** Erases accounts: no personal data is left in any table. */
export class AccountErasure extends Context.Service<AccountErasure, {
  /** One transaction per account, safe to run concurrently. An account that fails is retried and delays no other. */
  readonly eraseDue: Effect.Effect<Swept>
  /** When the next account is due; may be in the past. */
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
        Request: Schema.Struct({ began: Schema.Date, resisting: Schema.Array(UserId) }),
        Result: UserRecord.select.mapFields(Struct.pick(["id"])),
        execute: ({ began, resisting }) =>
          sql`
            SELECT id FROM users WHERE deletion_requested_at <= ${began}
              AND ${resisting.length === 0 ? sql`true` : sql`NOT ${sql.in("id", resisting)}`}
            ORDER BY deletion_requested_at LIMIT ${BATCH}`
      })

      const findOldest = SqlSchema.findOne({
        Request: Schema.Date,
        Result: Schema.Struct({ oldest: Schema.NullOr(Schema.Date) }),
        execute: (began) =>
          sql`SELECT min(deletion_requested_at) AS oldest FROM users WHERE deletion_requested_at <= ${began}`
      })

      const deleteUser = SqlSchema.findAll({
        Request: Schema.Struct({ id: UserId, began: Schema.Date }),
        Result: Schema.Struct({ email: Schema.String, deletionRequestedAt: Schema.Date }),
        execute: ({ began, id }) =>
          sql`
            DELETE FROM users WHERE id = (
              SELECT id FROM users WHERE id = ${id} AND deletion_requested_at <= ${began} FOR UPDATE SKIP LOCKED
            ) RETURNING email, deletion_requested_at AS "deletionRequestedAt"`
      })

      // A large account takes longer than the statement timeout of 5 seconds. The audit entry names no user.
      const erase = traced("AccountErasure.erase")(
        function*(id: UserId, began: Date) {
          yield* sql`SET LOCAL statement_timeout = 0`
          // Before the user: a use of a mailed link locks in this order.
          yield* sql`
            DELETE FROM sign_ups WHERE email_key IN (
              SELECT email_key FROM users WHERE id = ${id} AND deletion_requested_at <= ${began}
            )`
          const gone = yield* deleteUser({ id, began })
          yield* Effect.forEach(gone, ({ email }) => mailQuota.forget(email), { discard: true })
          if (gone.length > 0) yield* audit.record("account.erased")
          return sweptAt(began.getTime(), gone.map(({ deletionRequestedAt }) => deletionRequestedAt))
        },
        sql.withTransaction,
        Effect.uninterruptible
      )

      const eraseBatch = Effect.fnUntraced(function*(began: Date, resisting: ReadonlyArray<UserId>) {
        const due = yield* findDue({ began, resisting })
        const [swept, failed] = yield* Effect.partition(due, ({ id }) =>
          Effect.catchCause(
            erase(id, began),
            (cause) => Effect.andThen(sweepFailed("accounts", cause), Effect.fail(id))
          ))
        return { failed, swept: swept.reduce(plus, nothingSwept) }
      })

      const eraseFrom = (began: Date, resisting: ReadonlyArray<UserId>): Effect.Effect<Swept, unknown> =>
        Effect.flatMap(eraseBatch(began, resisting), ({ failed, swept }) =>
          failed.length === 0 && swept.rows === 0
            ? Effect.succeed(swept)
            : Effect.map(eraseFrom(began, [...resisting, ...failed]), (rest) => plus(swept, rest)))

      const stillDue = (began: Date) =>
        Effect.map(findOldest(began), ({ oldest }) => ({
          rows: 0,
          lagMillis: oldest === null ? 0 : began.getTime() - oldest.getTime()
        }))

      const findEarliest = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ earliest: Schema.NullOr(Schema.Date) }),
        execute: () => sql`SELECT min(deletion_requested_at) AS earliest FROM users`
      })

      return AccountErasure.of({
        earliestDue: findEarliest().pipe(
          Effect.map(({ earliest }) => Option.map(Option.fromNullishOr(earliest), erasureDueAt)),
          Effect.orDie,
          Effect.withSpan("AccountErasure.earliestDue")
        ),
        eraseDue: sharedTime.pipe(
          Effect.map(deletionCutoffAt),
          Effect.flatMap((began) =>
            Effect.zipWith(eraseFrom(began, []), stillDue(began), plus).pipe(
              Effect.orDie,
              Effect.withSpan("AccountErasure.eraseDue")
            )
          )
        )
      })
    })
  )
}

/** The longest sleep of the sweep (`ERASURE_SWEEP_INTERVAL`). */
export const erasureInterval = period("ERASURE_SWEEP_INTERVAL").pipe(Config.withDefault(Duration.hours(1)))

export const erasureLayer = Layer.effectDiscard(Effect.gen(function*() {
  const { earliestDue, eraseDue } = yield* AccountErasure
  yield* scheduled({
    longestSleep: erasureInterval,
    run: runSweep("accounts", eraseDue),
    earliestDue
  })
}))
