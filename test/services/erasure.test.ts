import { assert, describe, it, layer } from "@effect/vitest"
import { Clock, Config, Context, Deferred, Duration, Effect, Fiber, Layer, Logger, Metric, Option, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { databaseLive } from "../../src/layers/Database.ts"
import { AccountErasure, erasureLayer } from "../../src/services/accounts/Deletion.ts"
import { runSweep, scheduled } from "../../src/services/db/Sweeps.ts"
import { Audit } from "../../src/services/identity/Audit.ts"
import { MailQuota } from "../../src/services/mail/Outbox.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { whileLocked } from "../support/Locks.ts"
import { Spans } from "../support/Spans.ts"
import { configLayer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const DAY = 86_400_000

class Url extends Context.Service<Url, string>()("test/erasure/Url") {}

/** Gives the sweep a pool of its own, as another process would have it. */
const sweeperOn = (url: string) =>
  Layer.fresh(
    AccountErasure.layer.pipe(
      Layer.provide(Audit.layer),
      Layer.provideMerge(MailQuota.layer),
      Layer.provideMerge(databaseLive)
    )
  ).pipe(Layer.provide(configLayer(url, {})))

const onOwnDatabase = Layer.unwrap(Effect.map(clonedDatabase, sweeperOn))

/** Inserts so many users, each with a route, a session and an audit entry, who asked to be deleted at an instant. */
const usersWhoLeft = Effect.fnUntraced(function*(name: string, count: number, requestedAt: Date) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    WITH gone AS (
      INSERT INTO users (email, email_key, email_verified_at, name, handle, deletion_requested_at, created_at, updated_at)
      SELECT address, address, ${requestedAt}, ${name}, ${name} || '-' || n, ${requestedAt}, ${requestedAt}, ${requestedAt}
      FROM generate_series(1, ${count}) n, LATERAL (SELECT ${name} || n || '@example.com' AS address) a RETURNING id
    ), routes AS (
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token,
        published_at, created_at, updated_at)
      SELECT id, 'x', 'public', '{}', false, '[]', 'generation', md5(${name} || id), ${requestedAt},
        ${requestedAt}, ${requestedAt}
      FROM gone
    )
    INSERT INTO audit_events (created_at, event, user_id)
    SELECT ${requestedAt}, 'account.deletion_requested', id FROM gone`
})

const countOf = (table: string, condition: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql<{ count: number }>`SELECT count(*)::int AS count FROM ${sql(table)} WHERE ${sql.literal(condition)}`
  ).pipe(Effect.map((rows) => rows[0]?.count))

const handlesLeft = SqlClient.SqlClient.use((sql) => sql<{ handle: string }>`SELECT handle FROM users ORDER BY handle`)
  .pipe(
    Effect.map((rows) => rows.map(({ handle }) => handle))
  )

const valueOf = (name: string, sweep: string) =>
  Effect.map(
    Metric.snapshot,
    (all) => all.find(({ attributes, id }) => id === name && attributes?.["sweep"] === sweep)?.state
  )

layer(onOwnDatabase)("an erasure", (it) => {
  it.effect("is due after 30 days, and not a second before", () =>
    Effect.gen(function*() {
      const { eraseDue } = yield* AccountErasure
      yield* usersWhoLeft("due", 3, new Date(0))
      yield* TestClock.setTime(30 * DAY - 1000)
      assert.deepStrictEqual(yield* eraseDue, { rows: 0, lagMillis: 0 })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* eraseDue, { rows: 3, lagMillis: 0 })
      assert.strictEqual(yield* countOf("users", "true"), 0)
      assert.strictEqual(yield* countOf("audit_events", "event = 'account.erased'"), 3)
    }))

  it.effect("forgets that mails were sent to the address", () =>
    Effect.gen(function*() {
      const { eraseDue } = yield* AccountErasure
      const quota = yield* MailQuota
      const now = yield* Clock.currentTimeMillis
      yield* usersWhoLeft("mailed", 1, new Date(now - 30 * DAY))
      yield* Effect.forEach(["Mailed1@example.com", "another@example.com"], (address) => quota.take(address))
      assert.strictEqual(yield* countOf("mail_quotas", "true"), 2)
      assert.strictEqual((yield* eraseDue).rows, 1)
      assert.strictEqual(yield* countOf("mail_quotas", "true"), 1)
    }))

  it.effect("leaves the sign-ups of an address while the account is locked, and erases them with it then", () =>
    Effect.gen(function*() {
      const { eraseDue } = yield* AccountErasure
      const sql = yield* SqlClient.SqlClient
      yield* usersWhoLeft("locked", 1, new Date(-30 * DAY))
      yield* sql`
        INSERT INTO sign_ups (email, email_key, name, created_at, expires_at)
        VALUES ('locked1@example.com', 'locked1@example.com', 'x', 'epoch', 'epoch')`
      const swept = yield* whileLocked(
        (sql) => sql`SELECT FROM users WHERE handle = 'locked-1' FOR NO KEY UPDATE`,
        eraseDue
      )
      assert.strictEqual(swept.rows, 0)
      assert.strictEqual(yield* countOf("sign_ups", "true"), 1)
      assert.strictEqual((yield* eraseDue).rows, 1)
      assert.strictEqual(yield* countOf("sign_ups", "true"), 0)
    }))

  it.effect("retries an account that fails at the next run, and delays no other", () =>
    Effect.gen(function*() {
      const { eraseDue } = yield* AccountErasure
      const sql = yield* SqlClient.SqlClient
      yield* usersWhoLeft("resist", 120, new Date(0))
      yield* sql`
        CREATE FUNCTION resist() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$`
      yield* sql`
        CREATE TRIGGER resist BEFORE DELETE ON users FOR EACH ROW WHEN (old.handle = 'resist-1')
        EXECUTE FUNCTION resist()`
      yield* runSweep("accounts", eraseDue).pipe(Effect.provide(Logger.layer([])))
      assert.strictEqual(yield* countOf("users", "true"), 1)
      assert.strictEqual(yield* countOf("routes", "true"), 1)
      yield* TestClock.adjust("60 seconds")
      yield* runSweep("accounts", eraseDue).pipe(Effect.provide(Logger.layer([])))
      assert.deepInclude(yield* valueOf("sweep_lag_seconds", "accounts"), { value: 60 })
      yield* sql`DROP TRIGGER resist ON users`
      yield* TestClock.adjust("30 seconds")
      yield* runSweep("accounts", eraseDue)
      assert.strictEqual(yield* countOf("users", "true"), 0)
      assert.deepInclude(yield* valueOf("sweep_rows_total", "accounts"), { count: 120 })
      assert.deepInclude(yield* valueOf("sweep_failures_total", "accounts"), { count: 2 })
      assert.deepInclude(yield* valueOf("sweep_lag_seconds", "accounts"), { value: 0 })
      assert.deepInclude(yield* valueOf("sweep_last_run_timestamp_seconds", "accounts"), { value: 30 * 86_400 + 90 })
    }))

  it.effect("is not early by a clock that is ahead of the database's by a minute", () =>
    Effect.gen(function*() {
      const { eraseDue } = yield* AccountErasure
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ now: string }>`SELECT clock_timestamp() AS now`
      const now = Date.parse(rows[0]?.now ?? "")
      yield* TestClock.setTime(now + 60_000)
      yield* usersWhoLeft("early", 1, new Date(now - 30 * DAY + 59_000))
      yield* usersWhoLeft("due", 1, new Date(now - 30 * DAY))
      assert.strictEqual((yield* eraseDue).rows, 1)
      assert.deepStrictEqual(yield* handlesLeft, ["early-1"])
      // A clock that is as far ahead as that was set on purpose.
      yield* TestClock.setTime(now + 2 * 3_600_000)
      assert.strictEqual((yield* eraseDue).rows, 1)
    }))
})

const sweepLayer = Layer.unwrap(Effect.map(clonedDatabase, (url) =>
  erasureLayer.pipe(
    Layer.provideMerge(Spans.layer),
    Layer.provideMerge(sweeperOn(url))
  )))

layer(sweepLayer)("the sweep of accounts", (it) => {
  it.effect("sleeps until an account is due, and an hour at most, at the end of which it sees what others wrote", () =>
    Effect.gen(function*() {
      const { count } = yield* Spans
      const runs = count("Sweeps.accounts")
      const asked = count("AccountErasure.earliestDue")
      const left = countOf("users", "true")
      yield* until(Effect.map(asked, (count) => count === 1))
      yield* usersWhoLeft("late", 1, new Date(-30 * DAY))
      yield* TestClock.adjust("1 minute").pipe(Effect.andThen(left), Effect.repeat({ times: 58 }))
      assert.strictEqual(yield* runs, 1)
      assert.strictEqual(yield* left, 1)
      yield* TestClock.adjust("1 minute")
      yield* until(Effect.map(asked, (count) => count === 2))
      assert.strictEqual(yield* left, 0)

      yield* usersWhoLeft("due", 1, new Date(-30 * DAY + 2.5 * 3_600_000))
      yield* TestClock.adjust("1 hour")
      yield* until(Effect.map(asked, (count) => count === 3))
      assert.strictEqual(yield* runs, 3)
      yield* TestClock.adjust("29 minutes")
      assert.strictEqual(yield* left, 1)
      yield* TestClock.adjust("1 minute")
      yield* until(Effect.map(left, (count) => count === 0))
    }))
})

layer(onOwnDatabase)("an erasure beside others", (it) => {
  it.effect("skips an account whose deletion was cancelled, or requested again, since it was found to be due", () =>
    Effect.gen(function*() {
      const { eraseDue } = yield* AccountErasure
      const sql = yield* SqlClient.SqlClient
      yield* usersWhoLeft("earlier", 1, new Date(0))
      yield* usersWhoLeft("later", 2, new Date(1000))
      yield* sql`
        CREATE FUNCTION take_back() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN
          UPDATE users SET deletion_requested_at = NULL WHERE handle = 'later-1';
          UPDATE users SET deletion_requested_at = '1970-02-01T00:00:00Z' WHERE handle = 'later-2';
          RETURN old;
        END $$`
      yield* sql`
        CREATE TRIGGER take_back BEFORE DELETE ON users FOR EACH ROW WHEN (old.handle = 'earlier-1')
        EXECUTE FUNCTION take_back()`
      yield* TestClock.setTime(31 * DAY)
      const failures = yield* valueOf("sweep_failures_total", "accounts")
      assert.deepInclude(yield* eraseDue, { rows: 1 })
      assert.deepStrictEqual(yield* valueOf("sweep_failures_total", "accounts"), failures)
      yield* sql`DROP TRIGGER take_back ON users`
      assert.deepStrictEqual(yield* handlesLeft, ["later-1", "later-2"])
      assert.strictEqual(yield* countOf("routes", "true"), 2)
      yield* sql`DELETE FROM users`
    }))

  it.effect("waits for no account that is being restored, and erases the others meanwhile", () =>
    Effect.gen(function*() {
      const { eraseDue } = yield* AccountErasure
      const sql = yield* SqlClient.SqlClient
      const held = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      yield* usersWhoLeft("due", 5, new Date(0))
      const cancelling = yield* sql`UPDATE users SET deletion_requested_at = NULL WHERE handle = 'due-3'`.pipe(
        Effect.andThen(Deferred.succeed(held, undefined)),
        Effect.andThen(Deferred.await(done)),
        sql.withTransaction,
        Effect.forkChild
      )
      yield* Deferred.await(held)
      yield* TestClock.setTime(31 * DAY)
      const failures = yield* valueOf("sweep_failures_total", "accounts")
      assert.deepStrictEqual(yield* eraseDue, { rows: 4, lagMillis: DAY })
      assert.deepStrictEqual(yield* valueOf("sweep_failures_total", "accounts"), failures)
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(cancelling)
      assert.deepStrictEqual(yield* eraseDue, { rows: 0, lagMillis: 0 })
      assert.deepStrictEqual(yield* handlesLeft, ["due-3"])
      yield* sql`DELETE FROM users`
    }))

  it.effect("leaves no row of the account, nor its name in what others did", () =>
    Effect.gen(function*() {
      const { eraseDue } = yield* AccountErasure
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM audit_events`
      yield* usersWhoLeft("gone", 1, new Date(0))
      yield* usersWhoLeft("admin", 1, new Date(31 * DAY))
      yield* sql`
        INSERT INTO outbox (payload, created_at, next_attempt_at, expires_at, user_id)
        SELECT 'an unsent mail', now(), now(), now() + interval '1 day', id FROM users WHERE name = 'gone'`
      yield* sql`
        INSERT INTO audit_events (created_at, event, user_id, subject_id)
        SELECT now(), 'admin.user_viewed', a.id, g.id FROM users a, users g WHERE a.name = 'admin' AND g.name = 'gone'`
      yield* sql`
        INSERT INTO sign_ups (email, email_key, name, created_at, expires_at)
        SELECT email, email_key, 'x', now(), now() FROM users WHERE name IN ('gone', 'admin')`
      yield* TestClock.setTime(31 * DAY)
      assert.deepInclude(yield* eraseDue, { rows: 1 })
      assert.strictEqual(yield* countOf("outbox", "true"), 0)
      assert.strictEqual(yield* countOf("sign_ups", "true"), 1)
      const entries = yield* sql`
        SELECT e.event, u.name, e.subject_id FROM audit_events e LEFT JOIN users u ON u.id = e.user_id ORDER BY e.id`
      assert.deepStrictEqual<unknown>(entries, [
        { event: "account.deletion_requested", name: "admin", subject_id: null },
        { event: "admin.user_viewed", name: "admin", subject_id: null },
        { event: "account.erased", name: null, subject_id: null }
      ])
    }))
})

/** Breaks a connection of the sweepers ten times a second: in the midst of a statement, or before a commit. */
const killing = (kills: Ref.Ref<number>) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
      ORDER BY random() LIMIT 1`
  ).pipe(
    Effect.flatMap((rows) => Ref.update(kills, (count) => count + rows.length)),
    Effect.andThen(Effect.sleep("100 millis")),
    Effect.forever
  )

describe("sweepers", () => {
  layer(Layer.effect(Url, clonedDatabase), { excludeTestServices: true })("of which there are four", (it) => {
    it.effect("erase every due account once and no other, however often they are killed", () =>
      Effect.gen(function*() {
        const url = yield* Url
        const own = yield* Layer.build(sweeperOn(url))
        const now = Date.now()
        const kills = yield* Ref.make(0)
        const isAnyLeft = countOf("users", "deletion_requested_at < now() - interval '30 days'").pipe(
          Effect.map((count) => count !== 0),
          // The connection that asks this is broken like those of the sweepers.
          Effect.retry({ times: 10 })
        )
        yield* Effect.gen(function*() {
          yield* usersWhoLeft("due", 250, new Date(now - 30 * DAY - 1000))
          yield* usersWhoLeft("staying", 1000, new Date(now - 30 * DAY + 3_600_000))
          const sweepers = yield* Effect.forEach([1, 2, 3, 4], () => Layer.build(sweeperOn(url)))
          const killer = yield* Effect.forkChild(killing(kills))
          yield* Effect.forEach(
            sweepers,
            (sweeper) =>
              Context.get(sweeper, AccountErasure).eraseDue.pipe(
                Effect.catchCause(() => Effect.void),
                Effect.repeat({ while: () => isAnyLeft })
              ),
            { concurrency: 4 }
          )
          yield* Fiber.interrupt(killer)

          assert.isAbove(yield* Ref.get(kills), 3)
          assert.strictEqual(yield* countOf("users", "true"), 1000)
          assert.strictEqual(yield* countOf("users", "name = 'staying'"), 1000)
          assert.strictEqual(yield* countOf("routes", "true"), 1000)
          assert.strictEqual(yield* countOf("audit_events", "event = 'account.erased'"), 250)
          assert.strictEqual(yield* countOf("audit_events", "user_id IS NOT NULL"), 1000)
        }).pipe(Effect.provide(own), Effect.provide(Logger.layer([])))
      }))
  })
})

describe("a sweep", () => {
  it.effect("that a clock overtakes while it reads what is due next runs again at once", () =>
    Effect.gen(function*() {
      const runs = yield* Ref.make(0)
      const overtaken = Effect.flatMap(
        Ref.get(runs),
        (count) => count === 1 ? Effect.as(TestClock.adjust("30 days"), Option.none()) : Effect.never
      )
      yield* scheduled({
        longestSleep: Config.succeed(Duration.hours(1)),
        run: Effect.as(Ref.update(runs, (count) => count + 1), true),
        earliestDue: overtaken
      })
      yield* until(Effect.map(Ref.get(runs), (count) => count === 2))
    }))
})
