import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { MAX_PAGE_BYTES } from "../../src/schema/Page.ts"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { DatabaseProxy } from "../support/DatabaseProxy.ts"
import { created } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const MIB = 1024 * 1024

const ROUTES = 6

/** A line is so long that two of them fit into a page. */
const LINE_BYTES = 6 * MIB

/**
 * Inserts public routes whose geometry, a number with all its digits, and polyline, all backslashes, are long; they are
 * short when simplified.
 */
const fillFor = (rider: Rider) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, simplified, polyline6, provenance,
        share_token, bounds, distance, published_at, created_at, updated_at)
      SELECT ${rider.id}, 'Long ' || n, 'public', '{}', false, '[{"coord":[9.5,47.1]}]',
        '[[9.5' || repeat('0', ${LINE_BYTES}::int) || ',47.1]]', '[[9.5,47.1],[9.5,47.1]]', repeat('\\', ${
      LINE_BYTES / 2
    }::int),
        'generation', md5(n::text || ${rider.email}::text), box '(9.5,47.1),(9.5,47.1)', n, to_timestamp(n),
        to_timestamp(n), to_timestamp(n)
      FROM generate_series(1, ${ROUTES}::int) n`
  )

const Named = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ id: Schema.Int, name: Schema.String })))

const linkOf = (headers: Headers, relation: string) =>
  new RegExp(`<([^>]+)>; rel="${relation}"`).exec(headers.get("link") ?? "")?.[1]?.replace(
    "http://localhost:3000/api/v1",
    ""
  )

/** Returns the names on every page of a list, by its `next` links. */
const pagesOf = Effect.fnUntraced(function*(reader: Pick<Rider, "get">, first: string) {
  const pages: Array<ReadonlyArray<string>> = []
  for (let path: string | undefined = first; path !== undefined;) {
    const { body, headers, status, text } = yield* reader.get(path)
    assert.strictEqual(status, 200, path)
    assert.strictEqual(headers.get("x-total-count"), String(ROUTES), path)
    assert.isBelow(text.length, MAX_PAGE_BYTES + MIB)
    pages.push(Named(body).map(({ name }) => name))
    path = linkOf(headers, "next")
  }
  return pages
})

const IN_PAGES = [["Long 6", "Long 5"], ["Long 4", "Long 3"], ["Long 2", "Long 1"]]

layer(TestServer.behindProxy)("a list of long routes", (it) => {
  it.effect("ends each page after 16 MiB, and the next begins where it ended", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      yield* fillFor(rider)
      for (
        const path of [
          `/routes/by-user/${rider.id}?geometry=polyline6`,
          "/routes/public?gate=public&geometry=polyline6"
        ]
      ) {
        assert.deepStrictEqual(yield* pagesOf(visitor, path), IN_PAGES)
      }
      const database = yield* DatabaseProxy
      const before = yield* database.sent
      const all = yield* rider.get("/routes")
      assert.isBelow((yield* database.sent) - before, MAX_PAGE_BYTES, "sizes are read before texts")
      assert.deepStrictEqual(Named(all.body).map(({ name }) => name), IN_PAGES[0])
      const short = yield* rider.get("/routes?limit=3&geometry=none")
      const last = linkOf(short.headers, "last")?.replace("none", "full") ?? ""
      assert.deepStrictEqual(yield* pagesOf(rider, last), [["Long 3", "Long 2"], ["Long 1"]])
      const second = yield* rider.get("/routes?limit=4&geometry=none&offset=2")
      assert.strictEqual(linkOf(second.headers, "prev"), "/routes?limit=4&geometry=none&offset=0")
      assert.deepStrictEqual(yield* pagesOf(rider, "/routes?geometry=simplified"), [IN_PAGES.flat()])
      const ids = Named((yield* rider.get("/routes?geometry=none")).body).map(({ id }) => id)
      const collection = created((yield* rider.post("/collections", { name: "All", routeIds: ids })).body)
      assert.deepStrictEqual(yield* pagesOf(rider, `/collections/${collection.id}/routes?geometry=polyline6`), IN_PAGES)
      yield* Effect.forEach(ids.toReversed(), (id) => rider.delete(`/routes/${id}`))
      const deleted = yield* pagesOf(rider, "/routes/deleted?geometry=polyline6")
      assert.deepStrictEqual(deleted.map(({ length }) => length), [2, 2, 2])
      assert.sameMembers(deleted.flat(), IN_PAGES.flat())
    }))

  it.effect("counts cues and waypoints among the 16 MiB", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* fillFor(rider)
      const sql = yield* SqlClient.SqlClient
      const blank = `[${" ".repeat(LINE_BYTES)}]`
      yield* sql`UPDATE routes SET geometry = simplified, polyline6 = '??', cues = ${blank} WHERE user_id = ${rider.id}`
      for (const form of ["full", "polyline6"]) {
        assert.deepStrictEqual(yield* pagesOf(rider, `/routes?geometry=${form}`), IN_PAGES)
      }
      assert.deepStrictEqual(yield* pagesOf(rider, "/routes?geometry=simplified"), [IN_PAGES.flat()])
      yield* sql`UPDATE routes SET cues = NULL, waypoints = ${blank} WHERE user_id = ${rider.id}`
      assert.deepStrictEqual(yield* pagesOf(rider, "/routes?geometry=none"), IN_PAGES)
    }))

  it.effect("is whole on each page for people, which has no waypoints", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* fillFor(rider)
      yield* rider.patch("/users/me", { handle: "far-away" })
      const ids = Named((yield* rider.get("/routes?geometry=simplified")).body).map(({ id }) => id)
      const collection = created((yield* rider.post("/collections", { name: "All", routeIds: ids })).body)
      const sql = yield* SqlClient.SqlClient
      const blank = `[${" ".repeat(LINE_BYTES)}]`
      yield* sql`UPDATE routes SET waypoints = ${blank} WHERE user_id = ${rider.id}`
      const pages = ["me/routes", `me/collections/${collection.id}`, `c/${collection.id}`, "u/far-away"]
      const namesOn = (path: string) =>
        Effect.map(
          rider.get(`//${path}`),
          ({ text }) => new Set(text.match(/Long \d(?=<)/g))
        )
      for (const path of pages) assert.sameMembers([...yield* namesOn(path)], IN_PAGES.flat(), path)
      yield* Effect.forEach(ids, (id) => rider.delete(`/routes/${id}`))
      assert.sameMembers([...yield* namesOn("me/trash")], IN_PAGES.flat())
    }))
})
