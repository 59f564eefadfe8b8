import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import { WordSweep } from "../../src/services/routes/WordSweep.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"

class Url extends Context.Service<Url, string>()("test/wordSweep/Url") {}

/** The sweep on a pool of its own, as another process would have it. */
const sweeperOn = (url: string) =>
  Layer.fresh(WordSweep.layer.pipe(Layer.provideMerge(databaseLive))).pipe(Layer.provide(configLayer(url, {})))

const onDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.merge(sweeperOn(url), Layer.succeed(Url, url)))
)

/** Routes of one rider as the version before stored them: without their words. */
const routes = Effect.fnUntraced(function*(count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM users`
  yield* sql`
    WITH rider AS (
      INSERT INTO users (email, email_key, name, handle, created_at, updated_at)
      VALUES ('r@example.com', 'r@example.com', 'rider', 'rider', now(), now()) RETURNING id
    )
    INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token,
      published_at, created_at, updated_at)
    SELECT rider.id, 'Gravel ' || n, 'public', '{}', false, '[{"coord":[1,1]}]', 'generation', md5('r' || n), now(), now(),
      now()
    FROM rider, generate_series(1, ${count}) n`
  yield* sql`DELETE FROM route_words`
  yield* sql`DELETE FROM route_words_due`
  yield* sql`INSERT INTO route_words_due DEFAULT VALUES`
})

const count = (condition: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql<{ total: number }>`SELECT count(*)::int AS total FROM route_words WHERE ${sql.literal(condition)}`
  ).pipe(Effect.map(([row]) => row?.total))

const write = WordSweep.use(({ writeDue }) => writeDue)

layer(onDatabase, { excludeTestServices: true })("words of routes that were there before", (it) => {
  it.effect("are written once, for the owner and for anyone", () =>
    Effect.gen(function*() {
      yield* routes(250)
      assert.isTrue(yield* WordSweep.use(({ isDue }) => isDue))
      assert.strictEqual((yield* write).rows, 250)
      assert.strictEqual(yield* count(`words @@ search_query('/', 'GRAV 177', '&')`), 1)
      assert.isFalse(yield* WordSweep.use(({ isDue }) => isDue))
      assert.strictEqual((yield* write).rows, 0)
    }))

  it.effect("are those of the last change, and a route that is being deleted is waited for", () =>
    Effect.gen(function*() {
      yield* routes(30)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE routes SET name = 'Changed' WHERE name = 'Gravel 7'`
      const deleting = yield* Effect.forkChild(sql.withTransaction(Effect.gen(function*() {
        yield* sql`DELETE FROM routes WHERE name = 'Gravel 8'`
        yield* sql`SELECT pg_sleep(0.3)`
      })))
      yield* write
      yield* Fiber.join(deleting)
      yield* write
      assert.strictEqual(yield* count("true"), 29)
      assert.strictEqual(yield* count(`words @@ search_query('/', 'changed', '&')`), 1)
    }))

  it.effect("of several processes at once one writes, and an unreadable route delays no other", () =>
    Effect.gen(function*() {
      yield* routes(120)
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE routes DISABLE TRIGGER words_on_update`
      yield* sql`UPDATE routes SET waypoints = '"name" broken' WHERE name = 'Gravel 3'`
      yield* sql`ALTER TABLE routes ENABLE TRIGGER words_on_update`
      const other = sweeperOn(yield* Url)
      yield* Effect.all([write, Effect.provide(write, other)], { concurrency: 2 })
      yield* write
      assert.strictEqual(yield* count("true"), 120)
    }))
})
