import { Clock, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { graceBegan } from "../accounts/GraceWindow.ts"
import { plus, runSweep, scheduled, type Swept, sweptAt } from "./Sweeps.ts"

const BATCH = 500

const IDEMPOTENCY_KEPT = Duration.toMillis(Duration.hours(24))

const AUDIT_KEPT = Duration.toMillis(Duration.days(90))

/** A table's rows that are due once the instant in a column is over. */
interface Expiring {
  readonly table: string
  readonly key: string
  readonly column: string
  readonly until: Date
}

/** Deletes what nobody can use any more: in small batches that any number of processes may take. */
export const purgeLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const deleteBatch = SqlSchema.findAll({
    Request: Schema.Struct({
      table: Schema.String,
      key: Schema.String,
      column: Schema.String,
      until: Schema.Date
    }),
    Result: Schema.Struct({ due: Schema.Date }),
    execute: ({ column, key, table, until }) =>
      sql`
        DELETE FROM ${sql(table)} WHERE ${sql(key)} IN (
          SELECT ${sql(key)} FROM ${sql(table)} WHERE ${sql(column)} <= ${until} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
        ) RETURNING ${sql(column)} AS due`
  })

  const purge = (expiring: Expiring): Effect.Effect<Swept, unknown> =>
    deleteBatch(expiring).pipe(
      Effect.uninterruptible,
      Effect.map((rows) => sweptAt(expiring.until.getTime(), rows.map(({ due }) => due))),
      Effect.flatMap((swept) =>
        swept.rows < BATCH ? Effect.succeed(swept) : Effect.map(purge(expiring), (rest) => plus(swept, rest))
      )
    )

  const purgeAll = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const began = yield* graceBegan
    const expired = { column: "expires_at", until: new Date(now) }
    const all: ReadonlyArray<Expiring> = [
      { table: "routes", key: "id", column: "deleted_at", until: began },
      { table: "collections", key: "id", column: "deleted_at", until: began },
      { table: "sessions", key: "id", ...expired },
      { table: "email_tokens", key: "token_hash", ...expired },
      { table: "personal_access_tokens", key: "id", ...expired },
      { table: "idempotency_keys", key: "ctid", column: "created_at", until: new Date(now - IDEMPOTENCY_KEPT) },
      { table: "audit_events", key: "id", column: "created_at", until: new Date(now - AUDIT_KEPT) }
    ]
    yield* Effect.forEach(all, (expiring) => runSweep(expiring.table, purge(expiring)), { discard: true })
  })

  yield* scheduled("PURGE_SWEEP_INTERVAL", Duration.hours(1), purgeAll)
}))
