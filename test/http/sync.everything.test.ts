import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { type Actor, signedIn } from "../support/Actors.ts"
import { make, makeRoute } from "../support/Collections.ts"
import {
  areWaiting,
  assertEverythingCopied,
  catchUp,
  emptyCopy,
  EVERYTHING,
  pageIn,
  readPage
} from "../support/Copies.ts"
import { created, idOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"
import { untilSwept } from "../support/Waiting.ts"

const ZONE = { center: [9.5209, 47.1415], radius: 500, label: "Home" }

const setZones = (actor: Actor, zones: ReadonlyArray<object>) =>
  actor.call("PUT", "/users/me/privacy-zones", { body: { zones } })

const linkTo = (actor: Actor, path: string, link: object = {}) =>
  Effect.map(actor.post(`${path}/links`, link), ({ body }) => idOf({ shareToken: "", ...Object(body) }))

const typesIn = (page: ReturnType<typeof pageIn>) => page.changes.map(({ change, id, type }) => [type, id, change])

layer(TestServer.withSweeps())("the change feed of everything", (it) => {
  it.effect("has links and the account in pages, then each change of them", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* makeRoute(rider)
      const { id: collection } = yield* make(rider, { routeIds: [route] })
      const [first, second] = [
        yield* linkTo(rider, `/routes/${route}`),
        yield* linkTo(rider, `/collections/${collection}`)
      ]
      yield* setZones(rider, [ZONE])
      const copy = yield* Ref.make(emptyCopy)
      const pages = yield* Effect.replicateEffect(readPage(rider, copy, `${EVERYTHING}&limit=2`), 3)
      assert.deepStrictEqual(pages.map(({ changes, hasMore }) => [changes.map(({ type }) => type), hasMore]), [
        [["route", "collection"], true],
        [["link", "link"], true],
        [["account"], false]
      ])
      yield* assertEverythingCopied(rider, copy)

      yield* rider.patch(`/routes/${route}/links/${first}`, { label: "Club", expiresAt: "1970-02-01T00:00:00Z" })
      yield* rider.delete(`/collections/${collection}/links/${second}`)
      yield* rider.patch("/users/me", { preferences: { units: "imperial" } })
      const changed = yield* readPage(rider, copy, EVERYTHING)
      assert.deepStrictEqual(typesIn(changed), [
        ["link", first, "upserted"],
        ["link", second, "deleted"],
        ["account", rider.id, "upserted"]
      ])
      const known = pages.flatMap(({ changes }) => changes)
      for (const { id, type, version } of changed.changes) {
        assert.isAbove(version, known.find((before) => before.type === type && before.id === id)?.version ?? 0)
      }
      yield* setZones(rider, [{ ...ZONE, label: "The flat" }])
      assert.deepStrictEqual(typesIn(yield* readPage(rider, copy, EVERYTHING)), [["account", rider.id, "upserted"]])
      yield* assertEverythingCopied(rider, copy)
    }))

  it.effect("has routes, collections and links newest first, each once, in pages of any size", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const later = <A, E, R>(made: Effect.Effect<A, E, R>) => Effect.tap(made, () => TestClock.adjust("1 second"))
      const routes = yield* Effect.replicateEffect(later(makeRoute(rider)), 3)
      const collections = yield* Effect.replicateEffect(Effect.map(later(make(rider)), ({ id }) => id), 3)
      const links = yield* Effect.replicateEffect(later(linkTo(rider, `/routes/${routes[0]}`)), 3)
      const newest = [["route", routes], ["collection", collections], ["link", links]] as const
      const expected = newest.flatMap(([type, ids]) => ids.toReversed().map((id) => [type, id, "upserted"]))
      const readAll = Effect.fnUntraced(function*(query: string) {
        const copy = yield* Ref.make(emptyCopy)
        const pages = [yield* readPage(rider, copy, query)]
        while (pages.at(-1)?.hasMore === true) pages.push(yield* readPage(rider, copy, query))
        return pages
      })
      for (const [limit, count] of [[1, 10], [2, 5], [3, 4], [10, 1]] as const) {
        const pages = yield* readAll(`${EVERYTHING}&limit=${limit}`)
        assert.deepStrictEqual(pages.flatMap(typesIn), [...expected, ["account", rider.id, "upserted"]])
        assert.lengthOf(pages, count)
      }
      for (const [include, from] of [["routes", 0], ["collections", 3]] as const) {
        const pages = yield* readAll(`include=${include}&limit=3`)
        assert.deepStrictEqual(pages.map(typesIn), [expected.slice(from, from + 3)])
      }
    }))

  it.effect("has no link that has expired and is not deleted yet", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedIn
      const route = yield* makeRoute(rider)
      const [expired, valid] = [yield* linkTo(rider, `/routes/${route}`), yield* linkTo(rider, `/routes/${route}`)]
      const { cursor } = pageIn((yield* rider.get(`/sync?${EVERYTHING}`)).body)
      yield* sql`UPDATE share_links SET expires_at = '1969-12-31' WHERE id = ${expired}`
      yield* rider.patch(`/routes/${route}/links/${valid}`, { label: "Club" })
      const linksIn = (query: string) =>
        Effect.map(
          rider.get(`/sync?${EVERYTHING}${query}`),
          ({ body }) => typesIn(pageIn(body)).filter(([type]) => type === "link")
        )
      assert.deepStrictEqual(yield* linksIn(""), [["link", valid, "upserted"]])
      assert.deepStrictEqual(yield* linksIn(`&cursor=${cursor}`), [["link", valid, "upserted"]])
    }))

  it.effect("deletes and restores links with what they open", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* makeRoute(rider)
      const link = yield* linkTo(rider, `/routes/${route}`)
      const copy = yield* Ref.make(emptyCopy)
      yield* catchUp(rider, copy, EVERYTHING)
      yield* rider.delete(`/routes/${route}`)
      assert.deepStrictEqual(typesIn(yield* readPage(rider, copy, EVERYTHING)), [
        ["route", route, "deleted"],
        ["link", link, "deleted"]
      ])
      yield* rider.post(`/routes/${route}/restore`)
      assert.deepStrictEqual(typesIn(yield* readPage(rider, copy, EVERYTHING)), [
        ["route", route, "upserted"],
        ["link", link, "upserted"]
      ])
      yield* assertEverythingCopied(rider, copy)
    }))

  it.effect("deletes a link that has expired", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const route = yield* makeRoute(rider)
      const link = yield* linkTo(rider, `/routes/${route}`, { expiresAt: "1970-01-01T02:00:00Z" })
      const { cursor } = pageIn((yield* script.get(`/sync?${EVERYTHING}`)).body)
      yield* TestClock.adjust("3 hours")
      const read = Effect.map(script.get(`/sync?${EVERYTHING}&cursor=${cursor}`), ({ body }) => typesIn(pageIn(body)))
      yield* untilSwept(Effect.map(read, (changes) => changes.length > 0))
      assert.deepStrictEqual(yield* read, [["link", link, "deleted"]])
    }))

  it.effect("is not in the feed of clients that do not ask for it, and no cursor leads from one to the other", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* makeRoute(rider)
      const link = yield* linkTo(rider, `/routes/${route}`)
      yield* setZones(rider, [ZONE])
      const page = pageIn((yield* rider.get("/sync")).body)
      assert.deepStrictEqual(typesIn(page), [["route", route, "upserted"]])
      yield* rider.delete(`/routes/${route}/links/${link}`)
      const next = pageIn((yield* rider.get(`/sync?cursor=${page.cursor}`)).body)
      assert.deepStrictEqual([next.changes, next.hasMore], [[], false])
      assert.strictEqual((yield* rider.get(`/sync?${EVERYTHING}&cursor=${next.cursor}`)).status, 400)
    }))

  it.effect("records no change of what stays as it is, or of uses", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedIn
      const route = yield* makeRoute(rider, { visibility: "unlisted" })
      const link = yield* linkTo(rider, `/routes/${route}`, { label: "Club" })
      yield* setZones(rider, [ZONE])
      const { cursor } = pageIn((yield* rider.get(`/sync?${EVERYTHING}`)).body)
      yield* rider.patch(`/routes/${route}/links/${link}`, { label: "Club" })
      yield* setZones(rider, [ZONE])
      yield* rider.patch("/users/me", { preferences: {} })
      yield* sql`UPDATE share_links SET uses = uses + 1 WHERE id = ${link}`
      const { changes } = pageIn((yield* rider.get(`/sync?${EVERYTHING}&cursor=${cursor}`)).body)
      assert.deepStrictEqual(changes, [])
    }))

  it.effect("shows tokens of links to those who may read the links, and to no token of scope read", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* makeRoute(rider)
      const link = yield* linkTo(rider, `/routes/${route}`)
      const [reader, writer] = [yield* scriptOf(rider, "read"), yield* scriptOf(rider, "write")]
      const tokenFor = (actor: Actor) =>
        Effect.map(
          actor.get(`/sync?${EVERYTHING}`),
          ({ body }) => pageIn(body).changes.find(({ type }) => type === "link")?.link
        )
      assert.strictEqual((yield* reader.get(`/routes/${route}/links`)).status, 403)
      const shown = yield* tokenFor(reader)
      assert.deepInclude(shown, { id: link, routeId: route })
      assert.notProperty(shown, "token")
      for (const actor of [rider, writer]) assert.match(String((yield* tokenFor(actor))?.["token"]), /^[0-9a-f]{32}$/)
      const other = pageIn((yield* (yield* signedIn).get(`/sync?${EVERYTHING}`)).body)
      assert.deepStrictEqual(other.changes.map(({ type }) => type), ["account"])
    }))

  it.effect("wakes those who wait for it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = yield* makeRoute(rider)
      const { cursor } = pageIn((yield* rider.get(`/sync?${EVERYTHING}`)).body)
      const waiting = yield* Effect.forkChild(rider.get(`/sync?${EVERYTHING}&cursor=${cursor}&wait=30`))
      yield* areWaiting(1)
      const link = created({ shareToken: "", ...Object((yield* rider.post(`/routes/${route}/links`, {})).body) })
      assert.deepStrictEqual(typesIn(pageIn((yield* Fiber.join(waiting)).body)), [["link", link.id, "upserted"]])
    }))
})
