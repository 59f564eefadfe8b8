import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Places } from "../../src/services/geometry/Places.ts"
import { anonymous, type Rider, signedIn, signedInAs } from "../support/Actors.ts"
import { exported, imported, issuesOf, sealed, unzipped } from "../support/Archives.ts"
import { make } from "../support/Collections.ts"
import { created, idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { until, untilSwept } from "../support/Waiting.ts"
import {
  beside,
  filePositions,
  lineOf,
  listedPositions,
  metresFrom,
  positionsOf,
  ray,
  setZones
} from "../support/Zones.ts"

const HOME = [9.5, 47.1] as const

const RADIUS = 500

const ZONE = { center: HOME, radius: RADIUS, label: "Home" }

const LINE = ray(HOME, 1, 6000)

const FAR = beside(HOME, 3000, 4700)

/** South of here is a village of its own, which in the far west is a region and a country, too. */
const villages = Layer.succeed(Places, {
  at: ([lng, lat]) => {
    const placeCity = lat < 47.101 ? "Kleindorf" : "Vaduz"
    return Effect.succeed(
      lng < 0
        ? { placeCity, placeRegion: placeCity, placeCountryCode: lat < 47.101 ? "MC" : "FR" }
        : { placeCity, placeRegion: "Land", placeCountryCode: "LI" }
    )
  },
  hasCities: Effect.succeed(false)
})

const publish = (rider: Rider, members: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(
    rider.post(
      "/routes",
      newRoute({
        name: "Morning ride",
        visibility: "public",
        geometry: LINE,
        waypoints: [{ coord: HOME, name: "Gartenweg" }, { coord: FAR, name: "Waldrand" }],
        startAddress: "Gartenweg 7",
        endAddress: "Waldrand 1",
        ...members
      })
    ),
    ({ body }) => created(body)
  )

const box = ([lng, lat]: readonly [number, number], metres: number) => {
  const [west, south] = beside([lng, lat], -metres, -metres)
  const [east, north] = beside([lng, lat], metres, metres)
  return `bbox=${west},${south},${east},${north}`
}

const found = Effect.fnUntraced(function*(query: string) {
  const { body, headers } = yield* (yield* anonymous).get(`/routes/public?gate=public&${query}`)
  const ids = idsIn(body)
  assert.strictEqual(headers.get("x-total-count"), String(ids.length))
  return ids
})

const isInZone = (position: readonly [number, number]) => metresFrom(HOME, position) <= RADIUS

const revisionOf = (rider: Rider) =>
  SqlClient.SqlClient.use((sql) =>
    sql<{ revision: number | null }>`SELECT zones_revision AS revision FROM users WHERE id = ${rider.id}`
  ).pipe(Effect.map(([row]) => row?.revision))

const ADMIN = "admin@admins.example"

layer(TestServer.withSweeps({ ADMIN_EMAILS: ADMIN }, villages))("privacy zones", (it) => {
  it.effect("are cut from all that others see of a route, and from nothing that the owner sees", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const reader = yield* signedIn
      const visitor = yield* anonymous
      const { id, shareToken } = yield* publish(rider)
      const collection = yield* make(reader, { visibility: "public", routeIds: [id] })
      const single = (path: string) => Effect.map(visitor.get(path), ({ body }) => positionsOf(body))
      const listed = (path: string) => Effect.map(visitor.get(path), ({ body }) => listedPositions(body))
      const REPRESENTATIONS = {
        "the route": single(`/routes/${id}`),
        "by its share token": single(`/routes/${shareToken}`),
        "to another user": Effect.map(reader.get(`/routes/${id}`), ({ body }) => positionsOf(body)),
        simplified: single(`/routes/${id}?geometry=simplified`),
        polyline: single(`/routes/${id}?geometry=polyline6`),
        "without a line": single(`/routes/${id}?geometry=none`),
        GPX: filePositions(`/routes/${id}/gpx`, reader),
        TCX: filePositions(`/routes/${id}/tcx`, reader),
        KML: filePositions(`/routes/${id}/kml`, reader),
        GeoJSON: filePositions(`/routes/${id}/geojson`, reader),
        FIT: filePositions(`/routes/${id}/fit`, reader),
        "the public listing": listed("/routes/public?gate=public&geometry=full"),
        "its simplified lines": listed("/routes/public?gate=public"),
        "the owner's public routes": listed(`/routes/by-user/${rider.id}?geometry=polyline6`),
        "a collection of another user": listed(`/collections/${collection.id}/routes`)
      }
      for (const [name, positions] of Object.entries(REPRESENTATIONS)) {
        assert.isTrue((yield* positions).some(isInZone), `${name} without zones`)
      }
      const own = (yield* rider.get(`/routes/${id}`)).body
      assert.deepStrictEqual((yield* setZones(rider, [ZONE])).body, { zones: [ZONE] })
      for (const [name, positions] of Object.entries(REPRESENTATIONS)) {
        const seen = yield* positions
        assert.isNotEmpty(seen, name)
        assert.isFalse(seen.some(isInZone), name)
      }
      assert.deepStrictEqual<unknown>((yield* rider.get(`/routes/${id}`)).body, own)
      assert.isTrue(
        positionsOf((yield* (yield* withToken((yield* mint(rider, "read")).token)).get(`/routes/${id}`)).body)
          .some(isInZone)
      )
    }))

  it.effect("hide addresses, waypoints and the village of a start", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id, ...whole } = yield* publish(rider)
      yield* setZones(rider, [ZONE])
      const { body, text } = yield* visitor.get(`/routes/${id}`)
      const { endAddress, placeCountryCode, placeRegion } = whole
      assert.deepInclude(created(body), { endAddress, placeRegion, placeCountryCode })
      assert.notProperty(body, "placeCity")
      assert.notInclude(text, "Gartenweg")
      yield* setZones(rider, [{ ...ZONE, center: FAR }])
      const end = created((yield* visitor.get(`/routes/${id}`)).body)
      assert.deepInclude(end, { startAddress: "Gartenweg 7", placeCity: "Kleindorf" })
      assert.notProperty(end, "endAddress")
    }))

  it.effect("hide a region and a country that are the village of a start", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const center = [-9.5, 47.1] as const
      const { id } = yield* publish(rider, { name: "Distelrunde", geometry: ray(center, 1, 6000) })
      const visitor = yield* anonymous
      const place = { placeRegion: "Kleindorf", placeCountryCode: "MC" }
      assert.deepInclude(created((yield* visitor.get(`/routes/${id}`)).body), place)
      yield* setZones(rider, [{ ...ZONE, center }])
      const { body, text } = yield* visitor.get(`/routes/${id}`)
      assert.notInclude(text, "Kleindorf")
      assert.notProperty(body, "placeCountryCode")
      assert.notInclude(yield* found("q=distelrunde+kleindorf"), id)
      assert.include(yield* found("q=distelrunde"), id)
    }))

  it.effect("hide the village of a start from administrators too", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const admin = yield* signedInAs({ email: ADMIN })
      const { id } = yield* publish(rider, { name: "Schlehenrunde" })
      const listed = Effect.map(admin.get("/admin/routes?query=schlehenrunde"), ({ text }) => text)
      assert.include(yield* listed, "Kleindorf")
      yield* setZones(rider, [ZONE])
      assert.notInclude(yield* listed, "Kleindorf")
      yield* (yield* anonymous).get(`/routes/${id}`)
      assert.notInclude(yield* listed, "Kleindorf")
    }))

  it.effect("that have all of a route in them leave no line, box or waypoint", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id } = yield* publish(rider, {
        geometry: ray(HOME, 2, 300),
        waypoints: [{ coord: HOME }],
        endAddress: "Gartenweg 12"
      })
      yield* setZones(rider, [ZONE])
      for (const form of ["full", "simplified", "polyline6"]) {
        const { body } = yield* visitor.get(`/routes/${id}?geometry=${form}`)
        assert.deepInclude(created(body), { waypoints: [] })
        assert.notProperty(body, "geometry")
        assert.notProperty(body, "polyline6")
        assert.notProperty(body, "endAddress")
      }
      for (const format of ["gpx", "tcx", "kml", "geojson", "fit"]) {
        const { status, text } = yield* visitor.get(`/routes/${id}/${format}`)
        assert.strictEqual(status, 200)
        assert.notMatch(text, /47\.1|9\.5/)
      }
      assert.notInclude(yield* found(box(HOME, 20_000)), id)
    }))

  it.effect("are no place where a search finds a route, by box, word or city", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* publish(rider, { name: "Zwetschgenrunde" })
      const queries = {
        hidden: [
          box(HOME, 50),
          "q=zwetschgenrunde+gartenweg",
          "q=zwetschgenrunde+kleindorf",
          "q=zwetschgenrunde&placeCity=Kleindorf"
        ],
        shown: [box(FAR, 50), "q=zwetschgenrunde", "q=zwetschgenrunde+waldrand", `q=zwetschgenrunde&${box(FAR, 9000)}`]
      }
      for (const query of [...queries.hidden, ...queries.shown]) assert.include(yield* found(query), id, query)
      yield* setZones(rider, [ZONE])
      for (const query of queries.hidden) assert.notInclude(yield* found(query), id, `${query}, not cut yet`)
      yield* (yield* anonymous).get(`/routes/${id}`)
      for (const query of queries.hidden) assert.notInclude(yield* found(query), id, query)
      for (const query of queries.shown) assert.include(yield* found(query), id, query)
      assert.include((yield* rider.get(`/routes?${box(HOME, 50)}`)).text, `"id":${id},`)
    }))

  it.effect("let searches find a route again a second later, without a read of it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* publish(rider, { name: "Quittenrunde", geometry: ray(HOME, 1, 60_000, 10) })
      yield* setZones(rider, [ZONE])
      assert.deepStrictEqual(yield* found("q=quittenrunde"), [])
      yield* TestClock.adjust("1 second")
      yield* until(Effect.map(found("q=quittenrunde"), (ids) => ids.includes(id)))
      yield* rider.patch(`/routes/${id}`, { name: "Mirabellenrunde" })
      yield* TestClock.adjust("1 second")
      yield* until(Effect.map(found("q=mirabellenrunde"), (ids) => ids.includes(id)))
      yield* rider.post(`/routes/${id}/share-token`)
      yield* TestClock.adjust("1 second")
      yield* until(Effect.map(found("q=mirabellenrunde"), (ids) => ids.includes(id)))
    }))

  it.effect("that cannot be read hide the lines of their owner in a list, and fail no list", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* publish(rider)
      yield* setZones(rider, [ZONE])
      yield* SqlClient.SqlClient.use((sql) =>
        sql`UPDATE privacy_zones SET cut_radius = 'NaN' WHERE user_id = ${rider.id}`
      )
      const { body, status } = yield* (yield* anonymous).get(`/routes/by-user/${rider.id}`)
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(idsIn(body), [id])
      assert.deepStrictEqual(listedPositions(body), [])
    }))

  it.effect("are applied by the sweep where a process ended before it did so, to the 101st owner too", () =>
    Effect.gen(function*() {
      yield* SqlClient.SqlClient.use((sql) =>
        sql`
        INSERT INTO users (email, email_key, email_verified_at, name, handle, zones_revision, created_at, updated_at)
        SELECT n || '@zoned.example', n || '@zoned.example', 'epoch', 'Zoned', 'zoned-' || n, nextval('zones_revisions'),
          'epoch', 'epoch'
        FROM generate_series(1, 100) n`
      )
      const rider = yield* signedIn
      const { id } = yield* publish(rider, { name: "Holunderrunde" })
      yield* setZones(rider, [ZONE])
      yield* TestClock.adjust("1 second")
      yield* until(Effect.map(found("q=holunderrunde"), (ids) => ids.includes(id)))
      yield* SqlClient.SqlClient.use((sql) =>
        sql`UPDATE users SET zones_revision = nextval('zones_revisions') WHERE id = ${rider.id}`
      )
      assert.deepStrictEqual(yield* found("q=holunderrunde"), [])
      yield* TestClock.adjust("1 hour")
      yield* untilSwept(Effect.map(found("q=holunderrunde"), (ids) => ids.includes(id)))
    }))

  it.effect("are left out of the total of a search by box", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      const north = beside(HOME, 0, 100_000)
      const there = { geometry: ray(north, 1, 6000), waypoints: [{ coord: north }] }
      const [first] = [yield* publish(rider, there), yield* publish(other, there), yield* publish(other, there)]
      yield* setZones(rider, [{ center: north, radius: RADIUS }])
      yield* (yield* anonymous).get(`/routes/${first.id}`)
      const totalIn = (place: readonly [number, number]) =>
        Effect.map(
          Effect.flatMap(anonymous, (visitor) => visitor.get(`/routes/public?gate=public&limit=1&${box(place, 50)}`)),
          ({ headers }) => headers.get("x-total-count")
        )
      assert.strictEqual(yield* totalIn(north), "2")
      assert.strictEqual(yield* totalIn(beside(north, 3000, 4700)), "3")
    }))

  it.effect("show a route that cannot be cut within a second without its polyline in a list", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id } = yield* publish(rider)
      yield* setZones(rider, [ZONE])
      const listing = visitor.get(`/routes/by-user/${rider.id}`)
      const sql = yield* SqlClient.SqlClient
      const { body } = yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`LOCK TABLE route_views IN EXCLUSIVE MODE`
        const listed = yield* Effect.forkChild(listing)
        const blocked = sql`SELECT FROM pg_locks WHERE relation = 'route_views'::regclass AND NOT granted`
        yield* until(Effect.map(blocked, (rows) => rows.length > 0))
        yield* TestClock.adjust("1 second")
        return yield* Fiber.join(listed)
      }))
      assert.deepStrictEqual(idsIn(body), [id])
      assert.deepStrictEqual(listedPositions(body), [])
      assert.isNotEmpty(listedPositions((yield* listing).body))
    }))

  it.effect("take effect on the next read, which no entity tag of before prevents", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const { id } = yield* publish(rider)
      const read = (tag = "") => visitor.get(`/routes/${id}`, { headers: { "if-none-match": tag } })
      const before = yield* read()
      const tag = before.headers.get("etag") ?? ""
      assert.strictEqual((yield* read(tag)).status, 304)
      yield* setZones(rider, [ZONE])
      const after = yield* read(tag)
      assert.strictEqual(after.status, 200)
      assert.isBelow(lineOf(after.body).length, LINE.length)
      assert.strictEqual((yield* read(after.headers.get("etag") ?? "")).status, 304)
      // A change of the route is cut too.
      yield* rider.patch(`/routes/${id}`, { geometry: ray(HOME, 4, 3000) })
      assert.isFalse(lineOf((yield* read()).body).some(isInZone))
      yield* setZones(rider, [])
      assert.isNull(yield* revisionOf(rider))
      assert.strictEqual(lineOf((yield* read()).body).length, ray(HOME, 4, 3000).length)
      yield* setZones(rider, [{ ...ZONE, center: FAR }])
      assert.isTrue(lineOf((yield* read()).body).some(isInZone))
    }))

  it.effect("keep their cut under a new label, and when they are removed and come again", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* publish(rider)
      const seen = Effect.map(
        Effect.flatMap(anonymous, (visitor) => visitor.get(`/routes/${id}`)),
        ({ body }) => lineOf(body)
      )
      yield* setZones(rider, [ZONE])
      const [line, revision] = [yield* seen, yield* revisionOf(rider)]
      yield* setZones(rider, [{ ...ZONE, label: "Secret" }])
      assert.strictEqual(yield* revisionOf(rider), revision)
      yield* setZones(rider, [{ ...ZONE, center: beside(HOME, 1, 1) }])
      assert.deepStrictEqual(yield* seen, line)
      yield* setZones(rider, [])
      yield* setZones(rider, [ZONE])
      assert.deepStrictEqual(yield* seen, line)
    }))

  it.effect("are checked, written by scripts that may write, and audited", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const bad = yield* setZones(rider, [
        { center: [181, 47], radius: 500 },
        { center: HOME, radius: 99 },
        { center: HOME, radius: 2001, label: "x".repeat(101) }
      ])
      assert.strictEqual(bad.status, 400)
      assert.deepStrictEqual(
        issuesOf(bad.body).map(({ path }) => path),
        ["body.zones.0.center.0", "body.zones.1.radius", "body.zones.2.radius", "body.zones.2.label"]
      )
      assert.strictEqual((yield* setZones(rider, Array.from({ length: 11 }, () => ZONE))).status, 400)
      const reading = yield* withToken((yield* mint(rider, "read")).token)
      const writing = yield* withToken((yield* mint(rider, "write")).token)
      const put = { body: { zones: [ZONE] } }
      assert.strictEqual((yield* visitor.call("PUT", "/users/me/privacy-zones", put)).status, 401)
      assert.strictEqual((yield* reading.call("PUT", "/users/me/privacy-zones", put)).status, 403)
      assert.strictEqual((yield* writing.call("PUT", "/users/me/privacy-zones", put)).status, 200)
      assert.deepStrictEqual((yield* reading.get("/users/me/privacy-zones")).body, { zones: [ZONE] })
      const events = yield* SqlClient.SqlClient.use((sql) =>
        sql`SELECT event FROM audit_events WHERE user_id = ${rider.id} AND event = 'privacy_zones.changed'`
      )
      assert.lengthOf(events, 1)
    }))

  it.effect("come with an export and an import of the account, before its routes", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      const visitor = yield* anonymous
      yield* publish(rider)
      yield* setZones(rider, [ZONE])
      const { bytes } = yield* exported(rider)
      const files = yield* unzipped(bytes)
      const Profile = Schema.fromJsonString(Schema.Struct({ privacyZones: Schema.Unknown }))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Profile)(files["profile.json"]).privacyZones, [ZONE])
      // They have the centre or the radius of the zone, and leave room for one.
      const kept = [
        { center: HOME, radius: 100 },
        ...Array.from({ length: 8 }, (_, n) => ({ center: [n, 0], radius: RADIUS }))
      ]
      yield* setZones(other, kept)
      assert.strictEqual((yield* imported(other, bytes)).status, 201)
      assert.deepStrictEqual((yield* other.get("/users/me/privacy-zones")).body, { zones: [...kept, ZONE] })
      assert.strictEqual((yield* imported(other, bytes)).status, 201)
      assert.deepStrictEqual((yield* other.get("/users/me/privacy-zones")).body, { zones: [...kept, ZONE] })
      const { body } = yield* visitor.get(`/routes/by-user/${other.id}`)
      assert.isFalse(listedPositions(body).some(isInZone))
      const full = yield* signedIn
      yield* setZones(full, Array.from({ length: 10 }, (_, n) => ({ center: [n, 0], radius: 100 })))
      const refused = yield* imported(full, yield* sealed(files))
      assert.strictEqual(refused.status, 400)
      assert.deepStrictEqual(issuesOf(refused.body).map(({ path }) => path), ["body.profile.json.privacyZones"])
      assert.deepStrictEqual((yield* full.get("/routes")).body, [])
    }))
})

layer(TestServer.layer({}, villages))("privacy zones without a sweep", (it) => {
  it.effect("are applied once after a change, and not again until the next", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const zoned = Effect.gen(function*() {
        const rider = yield* signedIn
        const { id } = yield* publish(rider)
        yield* setZones(rider, [ZONE])
        const views = sql`SELECT 1 FROM route_views WHERE route_id = ${id}`
        yield* TestClock.adjust("1 second")
        yield* until(Effect.map(views, ({ length }) => length === 1))
        return { id, views }
      })
      const first = yield* zoned
      yield* sql`DELETE FROM route_views WHERE route_id = ${first.id}`
      // Its owner would have had a turn before that of the second.
      yield* zoned
      assert.deepStrictEqual(yield* first.views, [])
    }))
})
