import { Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import {
  AUDIT_RETENTION,
  ENDED_LINKS_KEPT,
  ENDED_TOKENS_KEPT,
  GRACE_PERIOD,
  IDEMPOTENCY_RETENTION
} from "../../schema/Limits.ts"
import { settings } from "../settings/Registry.ts"
import { makeSharedTime } from "./SharedTime.ts"
import { runSweep, scheduled, sweepUntilShort, sweptAt } from "./Sweeps.ts"
import { DateColumn } from "./Tables.ts"

const BATCH = 500

interface Expiring {
  readonly table: string
  readonly key: string
  readonly column: string
  readonly keptMillis: number
}

const TRASH = {
  key: "id",
  column: "deleted_at",
  keptMillis: Duration.toMillis(GRACE_PERIOD)
}

/** Expired rows are deleted together at the end of a minute. */
const STEP = Duration.toMillis(Duration.minutes(1))

const EXPIRED = { column: "expires_at", keptMillis: 0 }

const ALL: ReadonlyArray<Expiring> = [
  { table: "routes", ...TRASH },
  { table: "collections", ...TRASH },
  { table: "sessions", key: "id", ...EXPIRED },
  { table: "share_links", key: "id", ...EXPIRED },
  { table: "sign_ups", key: "id", ...EXPIRED },
  { table: "mail_quotas", key: "recipient", ...EXPIRED },
  // Kept for a while, so that the response says why they are refused.
  { table: "email_tokens", key: "token_hash", column: "expires_at", keptMillis: Duration.toMillis(ENDED_LINKS_KEPT) },
  {
    table: "personal_access_tokens",
    key: "id",
    column: "expires_at",
    keptMillis: Duration.toMillis(ENDED_TOKENS_KEPT)
  },
  {
    table: "revoked_tokens",
    key: "token_hash",
    column: "revoked_at",
    keptMillis: Duration.toMillis(ENDED_TOKENS_KEPT)
  },
  {
    table: "idempotency_keys",
    key: "ctid",
    column: "created_at",
    keptMillis: Duration.toMillis(IDEMPOTENCY_RETENTION)
  },
  {
    table: "audit_events",
    key: "id",
    column: "created_at",
    keptMillis: Duration.toMillis(AUDIT_RETENTION)
  }
]

const dueAt = ({ keptMillis }: Expiring, instant: Date) => Math.ceil((instant.getTime() + keptMillis) / STEP) * STEP

export const purgeLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const sharedTime = yield* makeSharedTime

  const deleteBatch = SqlSchema.findAll({
    Request: Schema.Struct({
      table: Schema.String,
      key: Schema.String,
      column: Schema.String,
      until: Schema.Date
    }),
    Result: Schema.Struct({ due: DateColumn }),
    execute: ({ column, key, table, until }) =>
      sql`
        DELETE FROM ${sql(table)} WHERE ${sql(key)} IN (
          SELECT ${sql(key)} FROM ${sql(table)} WHERE ${sql(column)} <= ${until}
          LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
        ) RETURNING ${sql(column)} AS due`
  })

  const findEarliest = SqlSchema.findOne({
    Request: Schema.Struct({ table: Schema.String, column: Schema.String }),
    Result: Schema.Struct({ earliest: Schema.NullOr(DateColumn) }),
    execute: ({ column, table }) => sql`SELECT min(${sql(column)}) AS earliest FROM ${sql(table)}`
  })

  const purge = (expiring: Expiring, until: Date) =>
    sweepUntilShort(
      deleteBatch({ ...expiring, until }).pipe(
        Effect.uninterruptible,
        Effect.map((rows) => sweptAt(until.getTime(), rows.map(({ due }) => due)))
      ),
      BATCH
    )

  const purgeDue = (expiring: Expiring) =>
    Effect.flatMap(sharedTime, (now) => purge(expiring, new Date(now - expiring.keptMillis)))

  const purgeAll = Effect.forEach(ALL, (expiring) => runSweep(expiring.table, purgeDue(expiring)), { discard: true })

  const earliestDue = Effect.forEach(ALL, (expiring) =>
    Effect.map(
      findEarliest(expiring),
      ({ earliest }) => earliest === null ? [] : [dueAt(expiring, earliest)]
    )).pipe(
      Effect.map((instants) => instants.flat()),
      Effect.map((instants) => instants.length === 0 ? Option.none() : Option.some(new Date(Math.min(...instants))))
    )

  yield* scheduled({
    longestSleep: settings.PURGE_SWEEP_INTERVAL,
    run: purgeAll,
    earliestDue
  })
}))
