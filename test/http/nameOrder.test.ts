import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { randomUUID } from "node:crypto"
import { inject } from "vitest"
import { ListPosition } from "../../src/schema/Page.ts"
import { signedCursors } from "../../src/services/operations/Keys.ts"
import { type Rider, signedIn } from "../support/Actors.ts"
import { databaseAt, onServer } from "../support/Databases.ts"
import { idsIn } from "../support/Routes.ts"
import { configLayer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

/** Makes a database whose own order is that of bytes. */
const databaseOfLocaleC = Effect.acquireRelease(
  Effect.sync(() => `test_${randomUUID().replaceAll("-", "")}`).pipe(
    Effect.tap((name) =>
      onServer((sql) =>
        sql`CREATE DATABASE ${sql(name)} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C'`
      )
    )
  ),
  (name) => onServer((sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`)
)

const serverOfLocaleC = Layer.unwrap(
  Effect.map(databaseOfLocaleC, (name) => TestServer.on(databaseAt(inject("postgresUrl"), name), {}))
)

const namesIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ name: Schema.String })))(body).map(({ name }) => name)

const insert = (rider: Rider, names: ReadonlyArray<string>) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, created_at,
        updated_at)
      SELECT ${rider.id}, name, 'private', '{}', false, '[{"coord":[9,47]}]', 'generation', md5(random()::text || n),
        '2026-01-01Z', '2026-01-01Z'
      FROM unnest(${[...names]}::text[]) WITH ORDINALITY AS names (name, n)`
  )

const nextOf = (headers: Headers) =>
  /<http:\/\/localhost:3000\/api\/v1([^>]+)>; rel="next"/.exec(headers.get("link") ?? "")?.[1]

const walked = Effect.fnUntraced(function*(rider: Rider, first: string) {
  const seen: Array<number> = []
  for (let path: string | undefined = first; path !== undefined;) {
    const { body, headers, status } = yield* rider.get(path)
    assert.strictEqual(status, 200, path)
    seen.push(...idsIn(body))
    path = nextOf(headers)
  }
  return seen
})

/** The names differ in a letter, its case, its accent, how that is written, a space or a digit, and some are equal. */
const anyName = fc.string({
  unit: fc.constantFrom(
    "a",
    "A",
    "b",
    "é",
    "É",
    "e\u0301",
    "e",
    "z",
    "ß",
    "ss",
    "山",
    "1",
    "10",
    " ",
    "-",
    "\u{1f6b2}"
  ),
  minLength: 1,
  maxLength: 4
})

layer(serverOfLocaleC)("routes by name", (it) => {
  it.effect("come as people sort them in a database of the C locale, by letters before case and accents", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* insert(rider, ["zebra", "Éclair", "eclairs", "Banana", "Apple 1", "apple", "apple 2", "Zebra", "Ångström"])
      const names = ["Ångström", "apple", "Apple 1", "apple 2", "Banana", "Éclair", "eclairs", "zebra", "Zebra"]
      assert.deepStrictEqual(namesIn((yield* rider.get("/routes?sort=name")).body), names)
      assert.deepStrictEqual(namesIn((yield* rider.get("/routes?sort=name&q=app")).body), names.slice(1, 4))
    }))

  it.effect("are on pages that make exactly the sorted whole, with and without a filter", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (const names of fc.sample(fc.array(anyName, { minLength: 1, maxLength: 40 }), { numRuns: 20, seed: 15 })) {
        const rider = yield* signedIn
        yield* insert(rider, names)
        const whole = yield* sql<{ id: number }>`
          SELECT id FROM routes WHERE user_id = ${rider.id} ORDER BY name COLLATE name_order, id`
        const ids = whole.map(({ id }) => id)
        assert.deepStrictEqual(yield* walked(rider, "/routes?sort=name&geometry=none&limit=3"), ids)
        assert.deepStrictEqual(yield* walked(rider, "/routes?sort=name&visibility=private&limit=7"), ids)
      }
    }))

  it.effect("refuse a cursor of the order before", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* insert(rider, ["apple", "Banana"])
      const { seal } = yield* signedCursors("cursors v1", ListPosition)
      const earlier = seal(JSON.stringify([rider.id, "/api/v1/routes", "sort=name"]), ["apple", 1])
      const { body, status } = yield* rider.get(`/routes?sort=name&limit=1&cursor=${earlier}`)
      assert.strictEqual(status, 400)
      assert.deepInclude(body, { code: "VALIDATION_FAILED" })
    }).pipe(Effect.provide(configLayer("", {}))))

  it.effect("are read by their index", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const names = Array.from({ length: 2000 }, (_, n) => `route ${(n * 7919) % 2000}`)
      for (const each of [rider, other]) yield* insert(each, names)
      yield* sql`ANALYZE routes`
      const scans = sql<{ scans: number }>`
        SELECT idx_scan::int AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'routes_name_idx'`.pipe(
        Effect.map(([row]) => Option.getOrElse(Option.fromNullishOr(row?.scans), () => 0))
      )
      const before = yield* scans
      const first = yield* rider.get("/routes?sort=name&geometry=none&limit=5")
      assert.strictEqual((yield* rider.get(nextOf(first.headers) ?? "")).status, 200)
      yield* until(Effect.map(scans, (now) => now >= before + 2))
    }))
})
