import { Config, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { TOMBSTONE_RETENTION } from "../../schema/Change.ts"
import { UserId } from "../../schema/Ids.ts"
import { type DatabaseError, hasWaited } from "../db/DatabaseErrors.ts"
import { makeSharedTime } from "../db/SharedTime.ts"
import { earliestIn, runSweep, scheduled, sweepEach, type Swept, sweptAt } from "../db/Sweeps.ts"
import { DateColumn } from "../db/Tables.ts"

/** A statement has five seconds, enough to number these. */
const NUMBERED_AT_ONCE = 1000

/** They may be in this many collections together, of which a route counts for `MOST_LISTINGS`, whatever others do. */
const LISTINGS_AT_ONCE = 10_000
const MOST_LISTINGS = 1000

const LogState = Schema.Struct({
  last: Schema.Int,
  completeFrom: Schema.Int,
  /** The value is false if `last` covers all changes that are committed. */
  hasPending: Schema.Boolean,
  epoch: Schema.String,
  /** The server is in this run, another one after it was started or promoted. */
  run: Schema.String,
  /** The account still has this last number of the run that was asked about. Null says that the run is unknown. */
  kept: Schema.NullOr(Schema.Int)
})
export type LogState = typeof LogState.Type

/**
 * Numbers the changes of an account. Triggers append them to `pending_changes` in the transaction that changes; the
 * next read of the account numbers the committed ones, with its counter locked. So numbers become visible in their
 * order, and a transaction that began earlier and commits later gets later ones.
 *
 * `keep_on_number` (`keep_last_number`, `current_run`) records what an account had when a server was started or
 * promoted, so that a cursor is void if that server lost what its client has seen (decision 0010).
 *
 * The triggers of changes (`db/schema/changes.sql`) are `change_on_insert`, `change_on_update` and `change_on_delete`
 * (`record_insert`, `record_update_of_routes`, `record_update_of_collections`, `record_delete`), `change_on_write` of
 * links and zones (`record_link`, `record_zone`), of users `change_on_update` (`record_account`) and
 * `change_on_deletion` (`relist_routes_of_user`; this and a hidden route call `relist_for_others`), and
 * `forget_changes` (`forget_changes_of_user`).
 */
export const changeNumbers = Effect.map(SqlClient.SqlClient, (sql) => {
  // The identity of the database is another one after a restore from a dump.
  const epoch = sql.literal(`
    (SELECT md5(concat_ws(' ', s.system_identifier, d.oid, e.epoch))
     FROM pg_control_system() s, pg_database d, change_epochs e WHERE d.datname = current_database()) AS epoch`)

  const findState = SqlSchema.findOne({
    Request: Schema.Struct({ owner: UserId, run: Schema.String }),
    Result: LogState,
    execute: ({ owner, run }) =>
      sql`
        SELECT coalesce(c.last, 0) AS last, coalesce(c.complete_from, 0) AS "completeFrom",
          EXISTS (SELECT FROM pending_changes WHERE user_id = ${owner}) AS "hasPending", ${epoch}, current_run() AS run,
          (SELECT coalesce(min(k.last), c.last, 0) FROM server_runs r
             LEFT JOIN kept_changes k ON k.user_id = ${owner} AND k.run_id > r.id
           WHERE r.run = ${run} GROUP BY r.id) AS kept
        FROM (SELECT) one LEFT JOIN change_counters c ON c.user_id = ${owner}`
  })

  const lockCounter = (owner: UserId) =>
    sql`
      INSERT INTO change_counters (user_id) SELECT id FROM users WHERE id = ${owner}
      ON CONFLICT (user_id) DO UPDATE SET last = change_counters.last RETURNING user_id`

  // This statement comes after the lock, so that it sees what the holder before it committed. It finds the collections
  // that list a route, since the trigger does not see a route that is being added to one.
  const numberPending = SqlSchema.findOne({
    Request: Schema.Struct({ owner: UserId, now: Schema.Date }),
    Result: Schema.Struct({ last: Schema.Int, hasMore: Schema.Boolean }),
    execute: ({ now, owner }) =>
      sql`
        WITH oldest AS (
          SELECT place, sum(CASE WHEN is_listing THEN (
            SELECT count(*) FROM (SELECT FROM collection_routes WHERE route_id = p.id LIMIT ${MOST_LISTINGS}) l
          ) ELSE 0 END) OVER (ORDER BY position) AS listings
          FROM (
            SELECT ctid AS place, position, id, is_listing FROM pending_changes WHERE user_id = ${owner}
            ORDER BY position LIMIT ${NUMBERED_AT_ONCE}
          ) p
        ), taken AS (
          DELETE FROM pending_changes
          WHERE ctid = ANY(ARRAY(SELECT place FROM oldest WHERE listings <= ${LISTINGS_AT_ONCE}))
          RETURNING type, id, version, position, is_listing
        ), relisted AS (
          SELECT c.user_id, c.id, c.version, max(t.position) AS position
          FROM (SELECT id, max(position) AS position FROM taken WHERE is_listing GROUP BY id) t
            JOIN collection_routes m ON m.route_id = t.id JOIN collections c ON c.id = m.collection_id
          WHERE c.deleted_at IS NULL GROUP BY c.id
        ), passed_on AS (
          INSERT INTO pending_changes (user_id, type, id, version, is_listing)
          SELECT user_id, 'collection', id, version, false FROM relisted WHERE user_id <> ${owner}
        ), newest AS (
          SELECT type, id, max(version) AS version, max(position) AS position FROM (
            SELECT type, id, version, position FROM taken
            UNION ALL SELECT 'collection', id, version, position FROM relisted WHERE user_id = ${owner}
          ) every GROUP BY type, id
        ), rows AS (
          SELECT n.*, coalesce(r.version, c.version, n.version) AS newest_version,
            CASE WHEN n.type = 'account' OR l.id IS NOT NULL THEN NULL
              WHEN r.id IS NULL AND c.id IS NULL THEN ${now}::timestamptz
              ELSE coalesce(r.deleted_at, c.deleted_at) END AS deleted_at
          FROM newest n
            LEFT JOIN routes r ON n.type = 'route' AND r.id = n.id
            LEFT JOIN collections c ON n.type = 'collection' AND c.id = n.id
            LEFT JOIN share_links l ON n.type = 'link' AND l.id = n.id AND (
              EXISTS (SELECT FROM routes o WHERE o.id = l.route_id AND o.deleted_at IS NULL)
              OR EXISTS (SELECT FROM collections o WHERE o.id = l.collection_id AND o.deleted_at IS NULL))
        ), numbered AS (
          INSERT INTO changes (user_id, type, id, number, version, deleted_at, numbered_at)
          SELECT ${owner}, type, id, last + row_number() OVER (ORDER BY position, type DESC), newest_version, deleted_at,
            ${now}::timestamptz
          FROM rows, change_counters WHERE user_id = ${owner}
          ON CONFLICT (user_id, type, id) DO UPDATE
          SET number = excluded.number, version = excluded.version, deleted_at = excluded.deleted_at,
            numbered_at = excluded.numbered_at
          RETURNING number
        )
        UPDATE change_counters SET last = greatest(last, (SELECT max(number) FROM numbered))
        WHERE user_id = ${owner} RETURNING last, (
          SELECT count(*) = ${NUMBERED_AT_ONCE} OR coalesce(max(listings) > ${LISTINGS_AT_ONCE}, false) FROM oldest
        ) AS "hasMore"`
  })

  const noneOf = (owners: ReadonlyArray<number>) =>
    owners.length === 0 ? sql`true` : sql`NOT ${sql.in("user_id", owners)}`

  const forget = (owner: UserId) => sql`DELETE FROM pending_changes WHERE user_id = ${owner}`

  const numberSome = Effect.fnUntraced(
    function*(owner: UserId, now: Date) {
      yield* sql`SET LOCAL lock_timeout = '250ms'`
      const counters = yield* lockCounter(owner)
      if (counters.length > 0) return yield* numberPending({ owner, now })
      yield* forget(owner)
      return { last: 0, hasMore: false }
    },
    sql.withTransaction
  )

  const number = (owner: UserId, now: Date): Effect.Effect<number, DatabaseError> =>
    Effect.flatMap(
      numberSome(owner, now),
      ({ hasMore, last }) => hasMore ? number(owner, now) : Effect.succeed(last)
    )

  const purge = SqlSchema.findAll({
    Request: Schema.Struct({ owner: UserId, until: Schema.Date }),
    Result: Schema.Struct({ deletedAt: DateColumn }),
    execute: ({ owner, until }) =>
      sql`
        WITH purged AS (
          DELETE FROM changes WHERE user_id = ${owner} AND deleted_at <= ${until} RETURNING deleted_at, number
        ), completed AS (
          UPDATE change_counters SET complete_from = greatest(complete_from, (SELECT max(number) FROM purged))
          WHERE user_id = ${owner}
        )
        SELECT deleted_at AS "deletedAt" FROM purged`
  })

  return {
    /**
     * Numbers the pending changes, of which an erased account has none, and returns the last number. Fails if another
     * transaction keeps the counter or the rows locked for 250 ms.
     */
    number,

    /** Returns the state, with the pending changes numbered if no lock prevents it. A cursor names `run`. */
    current: Effect.fnUntraced(function*(owner: UserId, now: Date, run = "") {
      const state = yield* findState({ owner, run })
      if (!state.hasPending) return state
      return yield* number(owner, now).pipe(
        Effect.map((last) => ({ ...state, last, hasPending: false })),
        Effect.catchIf(hasWaited, () => Effect.succeed(state))
      )
    }),

    pendingAccounts: SqlSchema.findAll({
      Request: Schema.Struct({ skipped: Schema.Array(UserId), limit: Schema.Int }),
      Result: Schema.Struct({ id: UserId }),
      execute: ({ limit, skipped }) =>
        sql`SELECT DISTINCT user_id AS id FROM pending_changes WHERE ${noneOf(skipped)} LIMIT ${limit}`
    }),

    purgeableAccounts: SqlSchema.findAll({
      Request: Schema.Struct({ until: Schema.Date, skipped: Schema.Array(UserId), limit: Schema.Int }),
      Result: Schema.Struct({ id: UserId }),
      execute: ({ limit, skipped, until }) =>
        sql`
          SELECT DISTINCT user_id AS id FROM changes
          WHERE deleted_at <= ${until} AND ${noneOf(skipped)} LIMIT ${limit}`
    }),

    /** Purges deletions from before an instant; cursors from before the last of them are expired then. */
    purge: (owner: UserId, until: Date) =>
      Effect.andThen(lockCounter(owner), purge({ owner, until })).pipe(
        Effect.map((purged) => purged.map(({ deletedAt }) => deletedAt)),
        sql.withTransaction
      ),

    earliestDeletion: earliestIn(sql`SELECT min(deleted_at) AS earliest FROM changes WHERE deleted_at IS NOT NULL`)
  }
})

const BATCH = 100

const KEPT_MILLIS = Duration.toMillis(TOMBSTONE_RETENTION)

const LONGEST_SLEEP = Duration.hours(1)

const PENDING = "pending_changes"

const CHANGES = "changes"

const ONE: Swept = { rows: 1, lagMillis: 0 }

/** Numbers the changes of accounts that no client reads, and purges old deletions, an account in a transaction. */
export const changeSweepLayer = Layer.effectDiscard(Effect.gen(function*() {
  const numbers = yield* changeNumbers
  const sharedTime = yield* makeSharedTime

  const numberAll = Effect.flatMap(sharedTime, (now) =>
    sweepEach(
      PENDING,
      (skipped: ReadonlyArray<UserId>) => numbers.pendingAccounts({ skipped, limit: BATCH }),
      (id) => Effect.uninterruptible(Effect.as(numbers.number(id, new Date(now)), ONE))
    ))

  const purgeAll = Effect.flatMap(sharedTime, (now) => {
    const until = new Date(now - KEPT_MILLIS)
    return sweepEach(
      CHANGES,
      (skipped: ReadonlyArray<UserId>) => numbers.purgeableAccounts({ until, skipped, limit: BATCH }),
      (id) =>
        Effect.map(
          Effect.uninterruptible(numbers.purge(id, until)),
          (purged) => ({ ...ONE, lagMillis: sweptAt(now - KEPT_MILLIS, purged).lagMillis })
        )
    )
  })

  yield* scheduled({
    longestSleep: Config.succeed(LONGEST_SLEEP),
    run: Effect.zipWith(
      runSweep(PENDING, numberAll),
      runSweep(CHANGES, purgeAll),
      (numbered, purged) => numbered && purged
    ),
    earliestDue: Effect.map(
      numbers.earliestDeletion,
      Option.map((deletedAt) => new Date(deletedAt.getTime() + KEPT_MILLIS))
    )
  })
}))
