import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { signedIn } from "../support/Actors.ts"
import { archiveOf, imported } from "../support/Archives.ts"
import { makeRoute } from "../support/Collections.ts"
import { line, list, publish, somewhere } from "../support/PublicRoutes.ts"
import { TestServer } from "../support/TestServer.ts"

const POOL_SIZE = 5
const FILLED = 4000

/** Many accounts have public routes in one place, in an order of publication that is that of their ids. */
const filled = Layer.effectDiscard(SqlClient.SqlClient.use((sql) =>
  Effect.gen(function*() {
    yield* sql`
      INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at)
      SELECT handle || '@example.com', handle || '@example.com', 'epoch', 'x', handle, 'epoch', 'epoch'
      FROM generate_series(1, 200) n, concat('filled-', n) handle`
    yield* sql`
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, bounds,
        position_count, distance, place_country_code, published_at, created_at, updated_at)
      SELECT u.id, 'Filled', 'public', '{}', false, '[{"coord":[1,2]}]', 'generation', md5(n || '-' || u.id),
        box '(9.6,47.2),(9.5,47.1)', 30, 1000, 'LI', timestamptz 'epoch' + n * interval '1 second', 'epoch', 'epoch'
      FROM generate_series(1, ${FILLED}::int / 200) n, users u`
    yield* sql`ANALYZE`
  })
))

/** Returns how many routes PostgreSQL read in the table. Each connection has to report what it has counted. */
const rowsRead = SqlClient.SqlClient.use((sql) =>
  Effect.gen(function*() {
    const report = sql`SELECT pg_stat_force_next_flush(), pg_sleep(0.1)`
    yield* Effect.replicateEffect(report, POOL_SIZE, { concurrency: POOL_SIZE, discard: true })
    const [row] = yield* sql<{ readonly rows: number }>`
      SELECT (seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_user_tables WHERE relname = 'routes'`
    return row?.rows ?? 0
  })
)

const readBy = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = yield* rowsRead
    const result = yield* work
    return { result, rows: (yield* rowsRead) - before }
  })

layer(filled.pipe(Layer.provideMerge(TestServer.layer({ DATABASE_POOL_SIZE: String(POOL_SIZE) }, somewhere))))(
  "among the routes of many accounts",
  (it) => {
    it.effect("an import reads few of others", () =>
      Effect.gen(function*() {
        const [rider, heir] = [yield* signedIn, yield* signedIn]
        yield* makeRoute(rider)
        const archive = yield* archiveOf(rider)
        const { result, rows } = yield* readBy(imported(heir, archive))
        assert.strictEqual(result.status, 201)
        assert.isBelow(rows, 100)
      }))

    it.effect("a public list by a tag reads those that have it", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const ids = [yield* publish(rider, { tags: ["a-b", "c"] }), yield* publish(rider, { tags: ["a-b", "d"] })]
        const { result, rows } = yield* readBy(
          Effect.all([list("tag=a-b&tag=C"), list("tag=a-b&q=ride"), list("tag=a&q=ride"), list("tag=unknown")])
        )
        assert.deepStrictEqual(result, [[ids[0]?.id], ids.toReversed().map(({ id }) => id), [], []])
        assert.isBelow(rows, 100)
      }))

    it.effect("a page of a viewport reads little more than it has, whether many routes are in it or few", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const { id } = yield* publish(rider, { geometry: line([20, 50], [20.1, 50.1]) })
        yield* list("limit=1&bbox=-180,-90,180,90")
        const { result, rows } = yield* readBy(
          Effect.all([
            list("limit=1&bbox=-180,-90,180,90"),
            list("limit=1&bbox=20,50,21,51"),
            list("limit=1&bbox=30,50,31,51")
          ])
        )
        assert.deepStrictEqual(result, [[id], [id], []])
        assert.isBelow(rows, 100)
      }))
  }
)
