import { Config, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { nothingSwept, overdue, runSweep, scheduled, sweepUntilShort, type Swept } from "../retention/Sweeps.ts"

const BATCH = 100

/** Waypoints and descriptions in a batch: the words of a megabyte take a second. */
const BATCH_BYTES = 1024 * 1024

const PAUSE = Duration.millis(50)

/** Shorter than the database takes to find a deadlock, so that the sweep gives way and not a request. */
const LOCK_TIMEOUT = "100ms"

const DueRow = Schema.Struct({ userId: Schema.Int, routeId: Schema.Int })

const BatchRow = Schema.Struct({
  taken: Schema.Int,
  kept: Schema.Int,
  userId: Schema.NullOr(Schema.Int),
  routeId: Schema.NullOr(Schema.Int)
})

/** Writes the words of routes that were stored before the database wrote them itself. */
export class WordSweep extends Context.Service<WordSweep, {
  /** Account by account, so that a search reads few pages; up to 100 routes per transaction, by one process at a time. */
  readonly writeDue: Effect.Effect<Swept>
  /** Whether a route may be left. */
  readonly isDue: Effect.Effect<boolean>
}>()("route-planning-service/WordSweep") {
  static readonly layer = Layer.effect(
    WordSweep,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient

      const findDue = SqlSchema.findOneOption({
        Request: Schema.Void,
        Result: DueRow,
        execute: () =>
          sql`SELECT user_id AS "userId", route_id AS "routeId" FROM route_words_due FOR UPDATE SKIP LOCKED`
      })

      // Routes that are being deleted are skipped, since words refer to them, and the batch is taken again.
      const writeAfter = SqlSchema.findOne({
        Request: DueRow,
        Result: BatchRow,
        execute: ({ routeId, userId }) =>
          sql`
            WITH batch AS (
              SELECT id, user_id FROM (
                SELECT id, user_id, row_number() OVER so_far AS place,
                  sum(octet_length(waypoints) + coalesce(octet_length(description), 0)) OVER so_far AS bytes
                FROM (
                  SELECT * FROM routes WHERE (user_id, id) > (${userId}, ${routeId})
                  ORDER BY user_id, id LIMIT ${BATCH}
                ) r
                WINDOW so_far AS (ORDER BY user_id, id ROWS UNBOUNDED PRECEDING)
              ) r WHERE place = 1 OR bytes <= ${BATCH_BYTES}
            ), kept AS (
              SELECT r.* FROM routes r WHERE id IN (SELECT id FROM batch) FOR KEY SHARE SKIP LOCKED
            ), written AS (
              INSERT INTO route_words (route_id, words)
              SELECT id, route_lexemes(user_id, name, description, tags, waypoints, place_city, place_region, visibility,
                deleted_at)
              FROM kept WHERE NOT EXISTS (SELECT FROM route_words w WHERE w.route_id = kept.id)
              ORDER BY user_id, id
              ON CONFLICT (route_id) DO NOTHING
            )
            SELECT (SELECT count(*)::int FROM batch) AS taken, (SELECT count(*)::int FROM kept) AS kept,
              last.user_id AS "userId", last.id AS "routeId"
            FROM (SELECT) one
              LEFT JOIN (SELECT user_id, id FROM batch ORDER BY user_id DESC, id DESC LIMIT 1) last ON true`
      })

      const writeBatch = Effect.gen(function*() {
        const due = yield* findDue()
        if (Option.isNone(due)) return nothingSwept
        yield* sql`SELECT set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`
        const batch = yield* writeAfter(due.value)
        if (batch.taken === 0) {
          yield* sql`DELETE FROM route_words_due`
          return nothingSwept
        }
        if (batch.kept === batch.taken) {
          yield* sql`UPDATE route_words_due SET user_id = ${batch.userId}, route_id = ${batch.routeId}`
        }
        return { rows: batch.taken, lagMillis: 0 }
      }).pipe(sql.withTransaction, Effect.uninterruptible)

      const isDue = Effect.map(sql`SELECT FROM route_words_due`, (rows) => rows.length > 0)

      return WordSweep.of({
        writeDue: sweepUntilShort(writeBatch, 1, Effect.sleep(PAUSE)).pipe(
          Effect.orDie,
          Effect.withSpan("WordSweep.writeDue")
        ),
        isDue: Effect.orDie(isDue)
      })
    })
  )
}

/** While it runs, a search finds what has its words already. */
export const wordSweepLayer = Layer.effectDiscard(Effect.gen(function*() {
  const { isDue, writeDue } = yield* WordSweep
  yield* scheduled({
    longestSleep: Config.succeed(Duration.hours(1)),
    run: runSweep("words", writeDue),
    earliestDue: overdue(isDue)
  })
}))
