import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { whileLocked } from "../support/Locks.ts"
import { somewhere } from "../support/PublicRoutes.ts"
import { idsIn } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const FILLED_AT_ONCE = 2500

layer(TestServer.layer({ MAX_ROUTES_PER_USER: "20000" }, somewhere))("totals of the public listing", (it) => {
  /** Inserts them in statements that a busy machine ends in time. */
  const fillFor = (rider: Rider, count: number) =>
    Effect.forEach(
      Array.from({ length: Math.ceil(count / FILLED_AT_ONCE) }, (_, n) => n * FILLED_AT_ONCE),
      (start) => fillFrom(rider, start + 1, Math.min(count, start + FILLED_AT_ONCE)),
      { discard: true }
    )

  const fillFrom = (rider: Rider, first: number, last: number) =>
    SqlClient.SqlClient.use((sql) =>
      sql`
        INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, bounds,
          position_count, distance, place_city, place_country_code, published_at, created_at, updated_at)
        SELECT ${rider.id}, 'Filled', 'public', '{}', false, '[{"coord":[1,2]}]', 'generation',
          md5(n::text || ${rider.email}::text),
          CASE WHEN n % 2 = 0 THEN box '(9.6,47.2),(9.5,47.1)' ELSE box '(180.5,-17),(179.5,-18)' END,
          30, n, 'Vaduz', 'LI', 'epoch', 'epoch', 'epoch'
        FROM generate_series(${first}::int, ${last}::int) n`
    )

  const totalOf = (query: string) =>
    Effect.flatMap(anonymous, (visitor) => visitor.get(`/routes/public?geometry=none&${query}`)).pipe(
      Effect.map(({ headers }) => Number(headers.get("x-total-count")))
    )

  it.effect("are exact whatever their size, and so is the last page", () =>
    Effect.gen(function*() {
      yield* fillFor(yield* signedIn, 12_345)
      assert.strictEqual(yield* totalOf("gate=public"), 12_345)
      assert.strictEqual(yield* totalOf("gate=indexable"), 12_345 - 499)
      assert.strictEqual(yield* totalOf("gate=public&placeCity=vaduz&minDistance=2001&maxDistance=12344"), 10_344)
      assert.strictEqual(yield* totalOf("gate=public&bbox=9,47,10,48"), 6172)
      // A route across the antimeridian is in both boxes of this viewport, and counts once.
      assert.strictEqual(yield* totalOf("gate=public&bbox=-180,-90,180,90"), 12_345)
      assert.strictEqual(yield* totalOf("gate=public&bbox=179,-20,-179,0"), 6173)
      const visitor = yield* anonymous
      const page = yield* visitor.get("/routes/public?gate=public&limit=100&offset=12300&geometry=none")
      assert.strictEqual(idsIn(page.body).length, 45)
      assert.include(page.headers.get("link"), "offset=12300&geometry=none>; rel=\"last\"")
    }))

  it.effect("of a page beyond the end are right, however far beyond, and its list is empty", () =>
    Effect.gen(function*() {
      yield* fillFor(yield* signedIn, 3)
      const visitor = yield* anonymous
      for (const offset of ["1000000", "1000001", "9007199254740991"]) {
        const page = yield* visitor.get(
          `/routes/public?gate=public&minDistance=1&maxDistance=3&limit=2&offset=${offset}`
        )
        assert.strictEqual(page.status, 200)
        const total = Number(page.headers.get("x-total-count"))
        assert.deepStrictEqual([page.body, total > 0], [[], true])
        const last = Math.floor((total - 1) / 2) * 2
        for (const relation of ["prev", "last"]) {
          assert.match(page.headers.get("link") ?? "", new RegExp(`offset=${last}>; rel="${relation}"`))
        }
        assert.notInclude(page.headers.get("link"), "rel=\"next\"")
      }
      for (const offset of ["9007199254740992", "9007199254740993", "-1", "1.5", "1e3"]) {
        assert.strictEqual((yield* visitor.get(`/routes/public?offset=${offset}`)).status, 400, offset)
      }
    }))

  it.effect("may be five seconds old, and no more", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const city = (n: number) => `gate=public&placeCity=Fresh&limit=${n}`
      const more = SqlClient.SqlClient.use((sql) =>
        sql`
          INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, place_city,
            published_at, created_at, updated_at)
          SELECT ${rider.id}, 'Fresh', 'public', '{}', false, '[{"coord":[1,2]}]', 'generation', md5(random()::text),
            'Fresh', 'epoch', 'epoch', 'epoch' FROM generate_series(1, 2)`
      )
      yield* more
      assert.strictEqual(yield* totalOf(city(1)), 2)
      yield* more
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(yield* totalOf(city(1)), 2)
      assert.strictEqual(yield* totalOf(city(3)), 3)
      assert.strictEqual(yield* totalOf(city(5)), 4)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual(yield* totalOf(city(1)), 4)
      yield* SqlClient.SqlClient.use((sql) => sql`UPDATE routes SET visibility = 'private' WHERE user_id = ${rider.id}`)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* totalOf(city(1)), 0)
    }))
})

layer(TestServer.layer({}, somewhere))("totals that take long", (it) => {
  const figure = (name: string, work: string) =>
    Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")).pipe(
      Effect.map(({ text }) => Number(new RegExp(`^${name}\\{class="${work}"\\} (\\d+)$`, "m").exec(text)?.[1]))
    )

  const LOCK = 43

  /** A look at most of these public routes waits for a lock, so that a page is quick and a count is not. */
  const slowRoutes = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rider = yield* signedIn
    yield* sql`
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, distance,
        published_at, created_at, updated_at)
      SELECT ${rider.id}, 'Filled', 'public', '{}', false, '[{"coord":[1,2]}]', 'generation', md5(random()::text), n,
        'epoch', 'epoch', 'epoch' FROM generate_series(1001, 1060) n`
    yield* sql`
      CREATE FUNCTION look(distance float8) RETURNS boolean LANGUAGE plpgsql COST 1000000 AS $$
      BEGIN
        WHILE distance < 1050 AND NOT pg_try_advisory_xact_lock_shared(${sql.literal(String(LOCK))}) LOOP
          PERFORM pg_sleep(0.02);
        END LOOP;
        RETURN true;
      END $$`
    yield* sql`ANALYZE routes`
    yield* sql`ALTER TABLE routes RENAME TO all_routes`
    yield* sql`CREATE VIEW routes AS SELECT * FROM all_routes WHERE look(distance)`
    return rider
  })

  const listed = (distance: number) => `/routes/public?gate=public&geometry=none&limit=1&minDistance=${distance}`

  it.effect(
    "have two connections, are 503 by themselves after a second, and are there for the next one who asks",
    () =>
      Effect.gen(function*() {
        const rider = yield* slowRoutes
        const visitor = yield* anonymous
        const other = yield* signedIn
        yield* whileLocked(
          (sql) => sql`SELECT pg_advisory_xact_lock(${LOCK})`,
          Effect.gen(function*() {
            const same = yield* Effect.forkChild(Effect.replicateEffect(visitor.get(listed(1)), 8, { concurrency: 8 }))
            yield* until(Effect.map(figure("bulkhead_running", "totals"), (running) => running === 1))
            const paths = Array.from({ length: 7 }, (_, n) => listed(n + 2))
            const calls = yield* Effect.forkChild(
              Effect.all(paths.map((path) => visitor.get(path)), { concurrency: 7 })
            )
            // Equal ones share a statement: eight wait or run, not fifteen.
            yield* until(Effect.map(figure("bulkhead_waiting", "totals"), (waiting) => waiting === 6))
            yield* until(Effect.map(figure("bulkhead_running", "publicLists"), (running) => running === 0))
            assert.strictEqual(yield* figure("bulkhead_running", "totals"), 2)
            for (let n = 0; n < 5; n++) assert.strictEqual((yield* other.get("/routes")).status, 200)
            yield* TestClock.adjust("1 second")
            const refused = [...yield* Fiber.join(calls), ...yield* Fiber.join(same)]
            assert.strictEqual(refused.length, 15)
            for (const { body, headers, status } of refused) {
              assert.strictEqual(status, 503)
              assert.strictEqual(headers.get("retry-after"), "1")
              assert.deepInclude(body, {
                statusCode: 503,
                code: "INTERNAL",
                message: "The list has not been counted in time: try again"
              })
            }
            assert.strictEqual((yield* other.get("/routes")).status, 200)
          })
        )
        yield* until(Effect.map(figure("bulkhead_running", "totals"), (running) => running === 0))
        const found = yield* visitor.get(listed(1))
        assert.strictEqual(found.status, 200)
        assert.strictEqual(found.headers.get("x-total-count"), "60")
        const byUser = yield* whileLocked(
          (sql) => sql`SELECT pg_advisory_xact_lock(${LOCK})`,
          Effect.gen(function*() {
            const call = yield* Effect.forkChild(visitor.get(`/routes/by-user/${rider.id}?geometry=none&limit=1`))
            yield* until(Effect.map(figure("bulkhead_running", "totals"), (running) => running === 1))
            yield* TestClock.adjust("1 second")
            return yield* Fiber.join(call)
          })
        )
        assert.strictEqual(byUser.status, 503)
      })
  )
})
