import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestServer } from "./TestServer.ts"
import { until } from "./Waiting.ts"

/** Sends a request whose client hangs up while the first change of a table commits, and returns when that is over. */
export const abortedInCommit = Effect.fnUntraced(function*(table: string, path: string, request: RequestInit) {
  const sql = yield* SqlClient.SqlClient
  const { origin } = yield* TestServer
  // The commit cannot be canceled: its result is that of one whose confirmation comes late.
  yield* sql`
    CREATE FUNCTION commit_slowly() RETURNS trigger LANGUAGE plpgsql AS '
      BEGIN PERFORM pg_sleep(1); RETURN NULL; EXCEPTION WHEN query_canceled THEN RETURN NULL; END'`
  yield* sql`
    CREATE CONSTRAINT TRIGGER commit_slowly AFTER INSERT OR UPDATE ON ${sql(table)} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION commit_slowly()`
  const client = new AbortController()
  const sent = fetch(`${origin}/api/v1${path}`, { ...request, signal: client.signal }).catch(() => undefined)
  yield* until(Effect.map(
    sql`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`,
    (committing) => committing.length > 0
  ))
  client.abort()
  yield* Effect.promise(() => sent)
  // It waits for the lock of the transaction.
  yield* sql`DROP FUNCTION commit_slowly CASCADE`
})
