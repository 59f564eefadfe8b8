import { Clock, Config, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AccountDeletion } from "./AccountDeletion.ts"
import { graceBegan } from "./GraceWindow.ts"

const BATCH = 500

const IDEMPOTENCY_KEPT = Duration.toMillis(Duration.hours(24))

const every = (name: string, fallback: Duration.Duration) => Config.Duration(name).pipe(Config.withDefault(fallback))

/**
 * Runs a sweep again and again for as long as the process lives, which ends it between two of its transactions. One that
 * fails is logged, and tried the next time.
 */
const scheduled = <E, R>(name: string, interval: Duration.Duration, sweep: Effect.Effect<void, E, R>) =>
  sweep.pipe(
    Effect.withSpan(`Sweeps.${name}`),
    Effect.catchCause((cause) => Effect.logError(`the sweep of ${name} failed`, cause)),
    Effect.andThen(Effect.sleep(interval)),
    Effect.forever,
    Effect.forkScoped
  )

/** Erases accounts when their 30 days are over: one a transaction, so that a crash leaves each whole or gone. */
export const erasureLayer = Layer.effectDiscard(Effect.gen(function*() {
  const deletion = yield* AccountDeletion
  const interval = yield* every("ERASURE_SWEEP_INTERVAL", Duration.minutes(1))
  const eraseAll: Effect.Effect<void> = Effect.flatMap(
    Effect.uninterruptible(deletion.eraseNext),
    (isErased) => isErased ? eraseAll : Effect.void
  )
  yield* scheduled("erasure", interval, eraseAll)
}))

/** Deletes what nobody can use any more: in small batches that any number of processes may take. */
export const purgeLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const interval = yield* every("PURGE_SWEEP_INTERVAL", Duration.hours(1))

  const until = (table: string, key: string, column: string, instant: Date): Effect.Effect<void, unknown> =>
    sql`
      DELETE FROM ${sql(table)} WHERE ${sql(key)} IN (
        SELECT ${sql(key)} FROM ${sql(table)} WHERE ${sql(column)} <= ${instant} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      ) RETURNING 1`.pipe(
      Effect.uninterruptible,
      Effect.flatMap((rows) => rows.length === BATCH ? until(table, key, column, instant) : Effect.void)
    )

  const purge = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const began = yield* graceBegan
    yield* until("routes", "id", "deleted_at", began)
    yield* until("collections", "id", "deleted_at", began)
    yield* until("sessions", "id", "expires_at", new Date(now))
    yield* until("email_tokens", "token_hash", "expires_at", new Date(now))
    yield* until("personal_access_tokens", "id", "expires_at", new Date(now))
    yield* until("used_id_tokens", "token_hash", "expires_at", new Date(now))
    yield* until("idempotency_keys", "ctid", "created_at", new Date(now - IDEMPOTENCY_KEPT))
  })

  yield* scheduled("purge", interval, purge)
}))
