import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { LinkId, ShareToken } from "../../src/schema/Ids.ts"
import { MAX_LINKS } from "../../src/schema/ShareLink.ts"
import { LinkUses } from "../../src/services/sharing/LinkUses.ts"
import { type Actor, anonymous, signedIn } from "../support/Actors.ts"
import { exported, imported, unzipped } from "../support/Archives.ts"
import { make, makeRoute, shownTo } from "../support/Collections.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { scriptOf } from "../support/Tokens.ts"
import { until, untilNoneSwept } from "../support/Waiting.ts"

const Link = Schema.Struct({
  id: Schema.Int,
  token: Schema.String,
  label: Schema.NullOr(Schema.String),
  allowDownload: Schema.Boolean,
  expiresAt: Schema.NullOr(Schema.String),
  createdAt: Schema.String,
  lastUsedAt: Schema.NullOr(Schema.String),
  uses: Schema.Int
})

const linksIn = Schema.decodeUnknownSync(Schema.Array(Link))

const linkTo = (owner: Actor, path: string, link: object = {}) =>
  Effect.map(owner.post(`${path}/links`, link), ({ body }) => Schema.decodeUnknownSync(Link)(body))

const FILES = ["gpx", "geojson", "tcx", "kml", "fit"]

const statusesOf = (visitor: Actor, token: string) =>
  Effect.forEach(
    ["", ...FILES.map((format) => `/${format}`)],
    (file) => Effect.map(visitor.get(`/routes/${token}${file}`), ({ status }) => status)
  )

const ALL_OPEN = [200, 200, 200, 200, 200, 200]
const ALL_ABSENT = [404, 404, 404, 404, 404, 404]

const AN_HOUR = "1970-01-01T01:00:00Z"

const unlisted = Effect.gen(function*() {
  const owner = yield* signedIn
  const route = created((yield* owner.post("/routes", newRoute({ visibility: "unlisted" }))).body)
  return { owner, route, path: `/routes/${route.id}`, visitor: yield* anonymous }
})

const CONFIRMED = { headers: { "x-service-confirm": "true" } }

layer(TestServer.layer())("links", (it) => {
  it.effect("are several for a route, listed with their tokens, changed and deleted by session and token `write`", () =>
    Effect.gen(function*() {
      const { owner, path, visitor } = yield* unlisted
      const first = yield* linkTo(owner, path, { label: "  Club  " })
      assert.deepInclude(first, { label: "Club", allowDownload: true, expiresAt: null, lastUsedAt: null, uses: 0 })
      const script = yield* scriptOf(owner, "write")
      const second = yield* linkTo(script, path, { expiresAt: "1970-01-01T02:00:00+01:00", allowDownload: false })
      assert.deepInclude(second, { label: null, allowDownload: false, expiresAt: "1970-01-01T01:00:00.000Z" })
      assert.deepStrictEqual(linksIn((yield* owner.get(`${path}/links`)).body), [second, first])
      assert.deepStrictEqual(linksIn((yield* owner.get(`${path}/links?limit=1`)).body), [second])

      const patched = yield* script.patch(`${path}/links/${second.id}`, {
        label: "x",
        expiresAt: null,
        allowDownload: true
      })
      assert.deepStrictEqual(patched.body, { ...second, label: "x", expiresAt: null, allowDownload: true })
      const same = yield* owner.patch(`${path}/links/${second.id}`, {})
      assert.deepStrictEqual(same.body, patched.body)

      for (const { token } of [first, second]) assert.deepStrictEqual(yield* statusesOf(visitor, token), ALL_OPEN)
      const unconfirmed = yield* script.delete(`${path}/links/${first.id}`)
      assert.strictEqual(unconfirmed.status, 428)
      const summary = "The link \"Club\" to the route will open nothing."
      assert.deepInclude(unconfirmed.body, {
        details: { impact: { action: "link.delete", resource: "link", id: first.id, summary } }
      })
      assert.strictEqual((yield* script.delete(`${path}/links/${first.id}`, CONFIRMED)).status, 200)
      assert.deepStrictEqual(yield* statusesOf(visitor, first.token), ALL_ABSENT)
      assert.deepStrictEqual(yield* statusesOf(visitor, second.token.toUpperCase()), ALL_OPEN)
      assert.strictEqual((yield* script.delete(`${path}/links/${first.id}`)).status, 404)

      const events = yield* SqlClient.SqlClient.use((sql) =>
        sql`SELECT event FROM audit_events WHERE user_id = ${owner.id} AND event LIKE 'link.%' ORDER BY id`
      )
      assert.deepStrictEqual(events.map(({ event }) => event), [
        "link.created",
        "link.created",
        "link.changed",
        "link.deleted"
      ])
    }))

  it.effect("belong to their route and its owner", () =>
    Effect.gen(function*() {
      const { owner, path } = yield* unlisted
      const link = yield* linkTo(owner, path)
      const other = yield* signedIn
      const elsewhere = `/routes/${yield* makeRoute(owner)}/links/${link.id}`
      const reader = yield* scriptOf(owner, "read")
      const calls: ReadonlyArray<readonly [Actor, string, string, number]> = [
        [other, "GET", `${path}/links`, 404],
        [other, "POST", `${path}/links`, 404],
        [other, "PATCH", `${path}/links/${link.id}`, 404],
        [other, "DELETE", `${path}/links/${link.id}`, 404],
        [other, "POST", `${path}/share-token`, 404],
        [owner, "PATCH", elsewhere, 404],
        [owner, "DELETE", elsewhere, 404],
        [reader, "GET", `${path}/links`, 403],
        [reader, "POST", `${path}/share-token`, 403]
      ]
      for (const [actor, method, target, status] of calls) {
        const body = method === "POST" || method === "PATCH" ? { body: { label: "x" } } : {}
        assert.strictEqual((yield* actor.call(method, target, body)).status, status, `${method} ${target}`)
      }
      assert.deepStrictEqual(linksIn((yield* owner.get(`${path}/links`)).body), [link])
    }))

  it.effect("open nothing of a private or deleted route, and work again when it is unlisted or restored", () =>
    Effect.gen(function*() {
      const { owner, path, visitor } = yield* unlisted
      const { token } = yield* linkTo(owner, path)
      yield* owner.patch(path, { visibility: "private" })
      assert.deepStrictEqual(yield* statusesOf(visitor, token), ALL_ABSENT)
      assert.deepStrictEqual(yield* statusesOf(owner, token), ALL_OPEN)
      yield* owner.patch(path, { visibility: "unlisted" })
      yield* owner.delete(path)
      assert.deepStrictEqual(yield* statusesOf(visitor, token), ALL_ABSENT)
      yield* owner.post(`${path}/restore`)
      assert.deepStrictEqual(yield* statusesOf(visitor, token), ALL_OPEN)
    }))

  it.effect("show their own token in place of the share token to others, so that it cannot outlive them", () =>
    Effect.gen(function*() {
      const { owner, path, route, visitor } = yield* unlisted
      const { token } = yield* linkTo(owner, path)
      const opened = yield* visitor.get(`/routes/${token}`)
      assert.deepInclude(opened.body, { shareToken: token })
      assert.notInclude(opened.text, route.shareToken)
      assert.deepInclude((yield* owner.get(`/routes/${token}`)).body, { shareToken: route.shareToken })
    }))

  it.effect("refuse files to others with `allowDownload: false`, which the route's JSON names", () =>
    Effect.gen(function*() {
      const { owner, path, visitor } = yield* unlisted
      const { token } = yield* linkTo(owner, path, { allowDownload: false })
      assert.deepStrictEqual(yield* statusesOf(visitor, token), [200, 403, 403, 403, 403, 403])
      assert.deepStrictEqual(yield* statusesOf(owner, token), ALL_OPEN)
      const refused = yield* visitor.get(`/routes/${token}/gpx`)
      assert.deepInclude(refused.body, { code: "FORBIDDEN", details: { reason: "download_not_allowed" } })
      assert.deepInclude((yield* visitor.get(`/routes/${token}`)).body, { allowDownload: false })
      assert.notProperty((yield* owner.get(`/routes/${token}`)).body, "allowDownload")
    }))

  it.effect("are refused with an expiry that is past, and above their number", () =>
    Effect.gen(function*() {
      const { owner, path } = yield* unlisted
      const { id } = yield* linkTo(owner, path)
      const late = { expiresAt: "1969-12-31T23:59:59Z" }
      for (const call of [owner.post(`${path}/links`, late), owner.patch(`${path}/links/${id}`, late)]) {
        assert.deepInclude((yield* call).body, { message: "body.expiresAt: Expected an instant in the future" })
      }
      // In UTC it would be an instant of the year 10000, which no call takes back.
      assert.strictEqual((yield* owner.post(`${path}/links`, { expiresAt: "9999-12-31T23:59:59-12:00" })).status, 400)
      for (let n = 1; n < MAX_LINKS; n++) {
        yield* SqlClient.SqlClient.use((sql) =>
          sql`
          INSERT INTO share_links (route_id, token, allow_download, created_at)
          SELECT route_id, md5(${`${path} ${n}`}), true, created_at FROM share_links WHERE id = ${id}`
        )
      }
      const beyond = yield* owner.post(`${path}/links`, {})
      assert.deepStrictEqual([beyond.status, (yield* linkTo(owner, `/routes/${yield* makeRoute(owner)}`)).uses], [
        409,
        0
      ])
    }))

  it.effect("are made once for an `Idempotency-Key`", () =>
    Effect.gen(function*() {
      const { owner, path } = yield* unlisted
      const call = { headers: { "idempotency-key": "one" } }
      const first = yield* owner.post(`${path}/links`, {}, call)
      const second = yield* owner.post(`${path}/links`, {}, call)
      assert.deepStrictEqual([second.status, second.body], [201, first.body])
    }))

  it.effect("to collections open it and the unlisted routes in it, without their share tokens", () =>
    Effect.gen(function*() {
      const { owner, route, visitor } = yield* unlisted
      const hidden = yield* makeRoute(owner)
      const collection = yield* make(owner, { visibility: "unlisted", routeIds: [route.id, hidden] })
      const path = `/collections/${collection.id}`
      const link = yield* linkTo(owner, path, { allowDownload: false })
      const opened = yield* visitor.get(`/collections/${link.token}`)
      assert.deepInclude(opened.body, { shareToken: link.token, allowDownload: false })
      assert.deepStrictEqual(yield* shownTo(visitor, link.token), [route.id])
      const { text } = yield* visitor.get(`/collections/${link.token}/routes`)
      for (const secret of [collection.shareToken, route.shareToken]) {
        assert.notInclude(opened.text, secret)
        assert.notInclude(text, secret)
      }
      assert.include((yield* visitor.get(`/collections/${collection.shareToken}/routes`)).text, route.shareToken)
      assert.include((yield* owner.get(`/collections/${link.token}/routes`)).text, route.shareToken)
      // A link to a route is none to a collection.
      assert.strictEqual((yield* visitor.get(`/routes/${link.token}`)).status, 404)

      const changed = yield* owner.patch(`${path}/links/${link.id}`, { label: "x", allowDownload: true })
      assert.deepStrictEqual(linksIn((yield* owner.get(`${path}/links`)).body), [
        Schema.decodeUnknownSync(Link)(changed.body)
      ])
      yield* owner.patch(path, { visibility: "private" })
      for (const file of ["", "/routes"]) {
        assert.strictEqual((yield* visitor.get(`/collections/${link.token}${file}`)).status, 404)
      }
      yield* owner.patch(path, { visibility: "unlisted" })
      yield* owner.delete(`${path}/links/${link.id}`)
      for (const file of ["", "/routes"]) {
        assert.strictEqual((yield* visitor.get(`/collections/${link.token}${file}`)).status, 404)
      }
    }))

  it.effect("are not in exports, by which an import recognises a route after its share token was replaced", () =>
    Effect.gen(function*() {
      const { owner, path } = yield* unlisted
      const { token } = yield* linkTo(owner, path)
      const { bytes } = yield* exported(owner)
      yield* owner.post(`${path}/share-token`)
      const files = Object.values(yield* unzipped(bytes)).join("\n")
      assert.notInclude(files, token)
      const { body } = yield* imported(owner, bytes)
      assert.deepInclude(body, { routes: { created: 0, restored: 0, unchanged: 1, duplicates: 0 } })
    }))

  it.effect("stay when the share token is replaced, after which the old one is absent everywhere", () =>
    Effect.gen(function*() {
      const { owner, path, route, visitor } = yield* unlisted
      const { token } = yield* linkTo(owner, path)
      const before = yield* owner.get(path)
      const script = yield* scriptOf(owner, "write")
      const unconfirmed = yield* script.post(`${path}/share-token`)
      assert.strictEqual(unconfirmed.status, 428)
      assert.include(unconfirmed.text, "\"action\":\"route.replace_share_token\"")
      const { body, headers, status } = yield* script.post(`${path}/share-token`, undefined, CONFIRMED)
      assert.strictEqual(status, 200)
      assert.notStrictEqual(shareTokenOf(body), route.shareToken)
      assert.match(headers.get("etag") ?? "", /^W\/"2-full-/)
      assert.notStrictEqual(headers.get("etag"), before.headers.get("etag"))
      assert.deepStrictEqual(yield* statusesOf(visitor, route.shareToken), ALL_ABSENT)
      for (const open of [shareTokenOf(body), token]) assert.deepStrictEqual(yield* statusesOf(visitor, open), ALL_OPEN)
      const feed = yield* owner.get("/sync")
      assert.include(feed.text, shareTokenOf(body))

      const collection = yield* make(owner, { visibility: "unlisted" })
      const renewed = yield* owner.post(`/collections/${collection.id}/share-token`)
      const old = yield* visitor.get(`/collections/${collection.shareToken}`)
      const now = yield* visitor.get(`/collections/${shareTokenOf(renewed.body)}`)
      assert.deepStrictEqual([renewed.status, old.status, now.status], [200, 404, 200])
      const events = yield* SqlClient.SqlClient.use((sql) =>
        sql`SELECT event FROM audit_events WHERE user_id = ${owner.id} AND event = 'share_token.replaced'`
      )
      assert.strictEqual(events.length, 2)
    }))
})

layer(TestServer.withSweeps())("links in time", (it) => {
  it.effect("count uses of others without a write for each, and add them up after a minute", () =>
    Effect.gen(function*() {
      const { owner, path, visitor } = yield* unlisted
      const { id, token } = yield* linkTo(owner, path)
      yield* TestClock.adjust("10 seconds")
      yield* statusesOf(visitor, token)
      yield* owner.get(`/routes/${token}`)
      const collection = `/collections/${(yield* make(owner, { visibility: "unlisted" })).id}`
      const shown = yield* linkTo(owner, collection)
      assert.strictEqual((yield* visitor.get(`//c/${shown.token}`)).status, 200)
      assert.deepInclude(linksIn((yield* owner.get(`${path}/links`)).body)[0], { uses: 0, lastUsedAt: null })
      yield* TestClock.adjust("1 minute")
      const counted = Effect.map(owner.get(`${path}/links`), ({ body }) => linksIn(body))
      yield* until(Effect.map(counted, ([link]) => link?.uses !== 0))
      assert.deepInclude((yield* counted)[0], { id, uses: 6, lastUsedAt: "1970-01-01T00:00:10.000Z" })
      // A page reads a collection and its routes, and is one use.
      assert.deepInclude(linksIn((yield* owner.get(`${collection}/links`)).body)[0], { uses: 1 })
    }))

  it.effect("count no file that they refuse", () =>
    Effect.gen(function*() {
      const { owner, path, visitor } = yield* unlisted
      const { token } = yield* linkTo(owner, path, { allowDownload: false })
      yield* statusesOf(visitor, token)
      yield* TestClock.adjust("1 minute")
      const uses = Effect.map(owner.get(`${path}/links`), ({ body }) => linksIn(body)[0]?.uses)
      yield* until(Effect.map(uses, (count) => count !== 0))
      assert.strictEqual(yield* uses, 1)
    }))

  it.effect("have the uses of every process, also of one that shuts down before the minute is over", () =>
    Effect.gen(function*() {
      const { owner, path } = yield* unlisted
      const { id, token } = yield* linkTo(owner, path)
      const process = Effect.scoped(Effect.gen(function*() {
        const { follow } = yield* Effect.provide(LinkUses, yield* Layer.build(Layer.fresh(LinkUses.layer)))
        yield* follow(ShareToken.make(token), { linkId: LinkId.make(id), allowDownload: true })
      }))
      yield* Effect.all([process, process], { concurrency: 2 })
      assert.deepInclude(linksIn((yield* owner.get(`${path}/links`)).body)[0], { uses: 2 })
    }))

  it.effect("that were prolonged are the result of a repeat, also past their first expiry", () =>
    Effect.gen(function*() {
      const { owner, path } = yield* unlisted
      const expiresAt = new Date((yield* Clock.currentTimeMillis) + 60_000).toISOString()
      const link = { clientId: randomUUID(), expiresAt }
      const first = yield* linkTo(owner, path, link)
      yield* owner.patch(`${path}/links/${first.id}`, { expiresAt: null })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* linkTo(owner, path, link), first)
    }))

  it.effect("open nothing from their expiry on, and are deleted then", () =>
    Effect.gen(function*() {
      const { owner: rider, path, route, visitor } = yield* unlisted
      const owner = yield* scriptOf(rider, "write")
      const collection = yield* make(owner, { visibility: "unlisted", routeIds: [route.id] })
      const { id, token } = yield* linkTo(owner, path, { expiresAt: AN_HOUR })
      const whole = yield* linkTo(owner, `/collections/${collection.id}`, { expiresAt: AN_HOUR })
      yield* TestClock.setTime(Date.parse(AN_HOUR) - 1)
      assert.deepStrictEqual(yield* statusesOf(visitor, token), ALL_OPEN)
      assert.strictEqual((yield* visitor.get(`/collections/${whole.token}/routes`)).status, 200)
      yield* TestClock.setTime(Date.parse(AN_HOUR))
      assert.deepStrictEqual(yield* statusesOf(visitor, token), ALL_ABSENT)
      for (const file of ["", "/routes"]) {
        assert.strictEqual((yield* visitor.get(`/collections/${whole.token}${file}`)).status, 404)
      }
      assert.deepStrictEqual((yield* owner.get(`${path}/links`)).body, [])
      assert.strictEqual((yield* owner.patch(`${path}/links/${id}`, { expiresAt: null })).status, 404)
      yield* TestClock.adjust("2 hours")
      yield* untilNoneSwept(SqlClient.SqlClient.use((sql) => sql`SELECT FROM share_links WHERE expires_at IS NOT NULL`))
    }))
})
