import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Actor, anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { created, idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const LIMIT = 7

const inOrder = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Struct({ routeIds: Schema.Array(Schema.Int) }))(body).routeIds

const nextOf = (headers: Headers) =>
  /<http:\/\/localhost:3000\/api\/v1([^>]+)>; rel="next"/.exec(headers.get("link") ?? "")?.[1]

const cursorOf = (headers: Headers) => new URLSearchParams(nextOf(headers)?.split("?")[1]).get("cursor") ?? ""

/** Returns the ids on every page of a list by its `next` links, with something done between two pages. */
const walk = Effect.fnUntraced(function*<E, R>(
  reader: Pick<Actor, "get">,
  first: string,
  between: Effect.Effect<unknown, E, R>
) {
  const seen: Array<number> = []
  for (let path: string | undefined = first; path !== undefined;) {
    const { body, headers, status } = yield* reader.get(path)
    assert.strictEqual(status, 200, path)
    seen.push(...idsIn(body))
    path = nextOf(headers)
    if (path !== undefined) assert.include(path, "cursor=")
    yield* between
  }
  return seen
})

/**
 * Inserts public routes among which everything that a list is sorted by is repeated or missing, and instants have
 * microseconds.
 */
const insertRoutes = (rider: Rider, count: number) =>
  SqlClient.SqlClient.use((sql) =>
    sql<{ id: number }>`
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, distance,
        published_at, created_at, updated_at)
      SELECT ${rider.id}, (ARRAY['Alp', 'alp', 'Étang', 'b'])[1 + floor(random() * 4)], 'public', '{}', false,
        '[{"coord":[9,47]}]', 'generation', md5(random()::text || n), (ARRAY[NULL, 0, 1, 0.1, 1e-9])[1 + floor(random() * 5)],
        instant, instant, instant
      FROM generate_series(1, ${count}::int) n, LATERAL (
        SELECT timestamptz '2026-01-01Z' + (floor(random() * 4) + n - n) * interval '1 microsecond' AS instant
      ) drawn
      RETURNING id::float8 AS id`
  )

const drop = (rider: Rider, count: number) =>
  SqlClient.SqlClient.use((sql) =>
    sql<{ id: number }>`
      UPDATE routes SET deleted_at = created_at WHERE id IN (
        SELECT id FROM routes WHERE user_id = ${rider.id} AND deleted_at IS NULL ORDER BY random() LIMIT ${count}
      ) RETURNING id::float8 AS id`
  )

const assertOnce = (seen: ReadonlyArray<number>, stayed: Iterable<number>, list: string) => {
  assert.strictEqual(new Set(seen).size, seen.length, `${list} repeats`)
  assert.deepStrictEqual([...stayed].filter((id) => !seen.includes(id)), [], `${list} skips`)
}

layer(TestServer.layer())("cursors", (it) => {
  it.effect(
    "every route that is there throughout is seen once, whatever is added and deleted between the pages",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const own = ["-createdAt", "createdAt", "-updatedAt", "name", "-distance", "distance"].map((sort) =>
          `/routes?sort=${sort}`
        )
        const lists = [
          ...own,
          "/routes?q=a&sort=relevance",
          "/routes/public?gate=public",
          `/routes/by-user/${rider.id}`
        ]
        for (const list of lists) {
          const searched = list.includes("q=a") ? "AND name ILIKE 'a%'" : ""
          yield* drop(rider, 1000)
          yield* insertRoutes(rider, 30)
          const sql = yield* SqlClient.SqlClient
          const left = yield* sql<{ id: number }>`
          SELECT id::float8 AS id FROM routes
          WHERE user_id = ${rider.id} AND deleted_at IS NULL ${sql.literal(searched)}`
          const stayed = new Set(left.map(({ id }) => id))
          const churn = Effect.gen(function*() {
            for (const { id } of yield* drop(rider, 2)) stayed.delete(id)
            yield* insertRoutes(rider, 2)
          })
          const joined = `${list}${list.includes("?") ? "&" : "?"}geometry=none&limit=${LIMIT}`
          assertOnce(yield* walk(rider, joined, churn), stayed, list)
        }
      })
  )

  it.effect("lead past the longest names", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const character of ["\u0001", "山", "a"]) {
        yield* rider.post("/routes", newRoute({ name: character.repeat(255) }))
      }
      const whole = idsIn((yield* rider.get("/routes?sort=name")).body)
      assert.strictEqual(whole.length, 3)
      assert.deepStrictEqual(yield* walk(rider, "/routes?sort=name&limit=1", Effect.void), whole)
    }))

  it.effect("a collection's routes are seen once while others are added and taken out", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = (yield* insertRoutes(rider, 20)).map(({ id }) => id)
      const spare = (yield* insertRoutes(rider, 8)).map(({ id }) => id)
      const { id } = created((yield* rider.post("/collections", { name: "All", routeIds: ids })).body)
      const stayed = new Set(ids)
      const churn = Effect.gen(function*() {
        yield* rider.post(`/collections/${id}/routes`, { routeId: spare.pop(), position: 0 })
        const added = yield* rider.post(`/collections/${id}/routes`, { routeId: spare.pop(), position: 5 })
        const [gone = 0] = [...stayed].slice(-3)
        stayed.delete(gone)
        yield* rider.delete(`/collections/${id}/routes/${gone}`)
        const [first = 0] = stayed
        stayed.delete(first)
        const routeIds = inOrder(added.body).filter((routeId) => routeId !== first && routeId !== gone)
        yield* rider.call("PUT", `/collections/${id}/routes`, { body: { routeIds } })
      })
      const seen = yield* walk(rider, `/collections/${id}/routes?geometry=none&limit=${LIMIT}`, churn)
      assertOnce(seen, stayed, "collection")
      const added = yield* rider.post(`/collections/${id}/routes`, { routeId: ids[0], position: 2 })
      assert.strictEqual(inOrder(added.body)[2], ids[0], "a position is an index, whatever is stored")
    }))

  it.effect("lead through the trash, collections, tokens, sessions and tags too", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* insertRoutes(rider, 3)
      yield* drop(rider, 3)
      for (const n of [1, 2, 3]) {
        yield* rider.post("/collections", { name: `c${n}`, visibility: "public" })
        yield* mint(rider, "read")
        yield* rider.post("/routes", newRoute({ tags: [`t${n}`] }))
      }
      const lists = ["/routes/deleted", "/collections", `/collections/by-user/${rider.id}`, "/auth/tokens"]
      for (const list of lists) {
        const whole = idsIn((yield* rider.get(list)).body)
        assert.strictEqual(whole.length, 3, list)
        assert.deepStrictEqual(yield* walk(rider, `${list}?limit=1`, Effect.void), whole, list)
      }
      const tags = yield* rider.get("/routes/tags?limit=2")
      const rest = yield* rider.get(nextOf(tags.headers) ?? "")
      assert.deepStrictEqual(rest.body, [{ tag: "t3", count: 1 }])
      assert.isUndefined(nextOf(rest.headers))
      assert.strictEqual((yield* rider.get("/me/sessions?limit=1")).status, 200)
    }))

  it.effect("that were changed, or are of another list, filter, sort or user, are refused", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      for (const each of [rider, other]) yield* insertRoutes(each, 3)
      const cursor = cursorOf((yield* rider.get("/routes?limit=1&sort=name")).headers)
      const page = (query: string) => `/routes?${query}&limit=1&cursor=`
      assert.strictEqual((yield* rider.get(`${page("sort=name&geometry=none")}${cursor}`)).status, 200)
      const bytes = Buffer.from(cursor, "base64url")
      const changed = [0, 1, 16, 20, bytes.length - 1].map((at) =>
        Buffer.from(bytes.map((byte, n) => n === at ? byte ^ 1 : byte)).toString("base64url")
      )
      const refused: ReadonlyArray<readonly [Actor, string]> = [
        ...[...changed, "AQ", "x", `${cursor}AAAA`].map((text) => [rider, page("sort=name") + text] as const),
        [rider, page("sort=distance") + cursor],
        [rider, page("sort=name&q=a") + cursor],
        [rider, `/routes/deleted?limit=1&cursor=${cursor}`],
        [other, page("sort=name") + cursor],
        [yield* anonymous, `/routes/public?limit=1&cursor=${cursor}`]
      ]
      for (const [reader, path] of refused) {
        const { body, status } = yield* reader.get(path)
        assert.strictEqual(status, 400, path)
        assert.include(JSON.stringify(body), "next", path)
      }
      const both = yield* rider.get(`${page("sort=name")}${cursor}&offset=1`)
      assert.deepInclude(both.body, { message: "query.cursor: Expected either cursor or offset" })
    }))

  it.effect("a list by offset goes on by offset", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* insertRoutes(rider, 5)
      const byOffset = yield* rider.get("/routes?limit=2&offset=0")
      assert.strictEqual(nextOf(byOffset.headers), "/routes?limit=2&offset=2")
      const first = yield* rider.get("/routes?limit=2")
      const second = yield* rider.get(nextOf(first.headers) ?? "")
      assert.deepStrictEqual(idsIn(second.body), idsIn((yield* rider.get("/routes?limit=2&offset=2")).body))
      assert.include(first.headers.get("link"), "limit=2&offset=4>; rel=\"last\"")
      assert.match(second.headers.get("link") ?? "", /^<[^,]+>; rel="next"$/)
      assert.strictEqual(second.headers.get("x-total-count"), "5")
      const last = yield* rider.get(nextOf(second.headers) ?? "")
      assert.deepStrictEqual([idsIn(last.body).length, nextOf(last.headers)], [1, undefined])
      assert.isUndefined(nextOf((yield* rider.get("/routes?limit=5")).headers))
      for (const path of ["/routes?limit=5", "/routes?limit=5&q=nothing"]) {
        assert.match((yield* rider.get(path)).headers.get("link") ?? "", /[?&]offset=0>; rel="last"/, path)
      }
    }))
})
