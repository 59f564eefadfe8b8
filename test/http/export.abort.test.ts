import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { once } from "node:events"
import { get, type IncomingMessage } from "node:http"
import { buffer } from "node:stream/consumers"
import { type Rider, signedIn } from "../support/Actors.ts"
import { manifestOf, unzipped } from "../support/Archives.ts"
import { DatabaseProxy } from "../support/DatabaseProxy.ts"
import { unpackedLines } from "../support/LongRoute.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { untilNone } from "../support/Waiting.ts"

const statements = DatabaseProxy.use(({ calls }) => calls)

const ROUTES = 250

/** The account has more routes than sockets and buffers hold, of digits that cannot be packed small. */
class LongAccount extends Context.Service<LongAccount, { readonly rider: Rider; readonly firstId: number }>()(
  "test/LongAccount"
) {
  static readonly layer = Layer.effect(LongAccount, Effect.suspend(() => fill))
}

const fill = Effect.gen(function*() {
  const rider = yield* signedIn
  const first = created((yield* rider.post("/routes", newRoute({ name: "first", geometry: [[9, 47], [10, 48]] }))).body)
  const sql = yield* SqlClient.SqlClient
  yield* unpackedLines
  // A repeated line is further away than a packer looks back.
  yield* sql`
    WITH line AS MATERIALIZED (
      SELECT '[' || string_agg('[' || random() + k % 90 || ',' || random() || ']', ',') || ']' AS geometry
      FROM generate_series(1, 2000) k
    )
    INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
      created_at, updated_at)
    SELECT ${rider.id}, 'long ' || n, 'private', '{}', false, '[{"coord":[9,47]}]', geometry, 'routing-engine',
      md5(n || 'long' || ${rider.id}), '2999-01-01Z', '2999-01-01Z'
    FROM generate_series(1, ${ROUTES}::int) n, line`
  return { rider, firstId: first.id }
})

const sleep = (milliseconds: number) =>
  Effect.promise(() => new Promise((resolve) => setTimeout(resolve, milliseconds)))

/** Begins an export, and reads nothing of its response. */
const begun = Effect.fnUntraced(function*(rider: Rider) {
  const { origin } = yield* TestServer
  return yield* Effect.callback<IncomingMessage>((resume) => {
    get(`${origin}/api/v1/users/me/export`, { headers: { cookie: rider.cookie }, agent: false }, (response) => {
      response.on("error", () => undefined)
      resume(Effect.succeed(response))
    })
  })
})

/**
 * Ends when no client of the database has a statement or a transaction open, which may take a moment on a
 * busy machine and never happens for what holds one. The server's own autovacuum does not count.
 */
const released = untilNone(SqlClient.SqlClient.use((sql) =>
  sql`
    SELECT state, query FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
      AND state <> 'idle'`
))

/** Returns how many statements were sent when none is under way and no more are for a while. */
const settled: Effect.Effect<number, SqlError.SqlError, DatabaseProxy | SqlClient.SqlClient> = Effect.gen(function*() {
  yield* released
  const before = yield* statements
  yield* sleep(250)
  return (yield* statements) === before ? before : yield* settled
})

layer(LongAccount.layer.pipe(Layer.provideMerge(TestServer.behindProxy)), {
  excludeTestServices: true
})("an export of a long account", (it) => {
  it.effect("works no further ahead than it is read, and keeps nothing meanwhile", () =>
    Effect.gen(function*() {
      const { firstId, rider } = yield* LongAccount
      const response = yield* begun(rider)
      const stalled = yield* settled
      assert.isAbove(stalled, 0)

      // The route that changes now was read once and is to be read once more.
      yield* rider.patch(`/routes/${firstId}`, { name: "another" })
      const files = yield* unzipped(yield* Effect.promise(() => buffer(response)))
      assert.isAbove(yield* statements, stalled + 5)
      assert.deepStrictEqual<ReadonlyArray<number>>(manifestOf(files).changedMeanwhile, [firstId])
      assert.include(files["routes.json"], "\"name\":\"first\"")
      assert.strictEqual(Object.keys(files).length, 6 + ROUTES)
    }))

  it.effect("stops with its reader", () =>
    Effect.gen(function*() {
      const { rider } = yield* LongAccount
      const before = yield* statements
      const response = yield* begun(rider)
      const [chunk] = yield* Effect.promise(() => once(response, "data"))
      assert.isAbove(chunk.length, 0)
      response.destroy()
      // Each of these routes is more than a page, so all of them would be more statements than these.
      assert.isBelow((yield* settled) - before, ROUTES)
    }))

  it.effect("that fails on the way ends broken off, never as an archive", () =>
    Effect.gen(function*() {
      const { rider } = yield* LongAccount
      const database = yield* DatabaseProxy
      const response = yield* begun(rider)
      yield* settled
      yield* database.refuse
      const failure = yield* Effect.promise(() => buffer(response).then(() => "none", String))
      yield* database.forward
      assert.include(failure, "aborted")
    }))
})
