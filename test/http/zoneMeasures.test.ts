import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Places } from "../../src/services/geometry/Places.ts"
import { type Actor, anonymous, type Rider, signedIn, signedInAs } from "../support/Actors.ts"
import { make } from "../support/Collections.ts"
import { created, idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"
import { estimatesOf, measuresOf, metresOf, street } from "../support/ZoneAttack.ts"
import { beside, lineOf, metresFrom, type Place, ray, reimported, setZones } from "../support/Zones.ts"

const HOME = [9.5, 47.1] as const

const RADIUS = 500

const AWAY = beside(HOME, 9000, 0)

const STEP = 20

/** Climbs one metre with each position. */
const climbing = (line: ReadonlyArray<Place>) => line.map(([lng, lat], index) => [lng, lat, 400 + index] as const)

const LINE = climbing(ray(HOME, 1, 6000, STEP))

const somewhere = Layer.succeed(Places, {
  at: () => Effect.succeed({ placeCity: "Vaduz", placeRegion: "Land", placeCountryCode: "LI" }),
  hasCities: Effect.succeed(false)
})

const publish = (rider: Rider, members: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(
    rider.post("/routes", newRoute({ name: "Morning ride", visibility: "public", geometry: LINE, ...members })),
    ({ body }) => created(body)
  )

const Measured = Schema.Struct({
  distance: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  duration: Schema.optionalKey(Schema.Finite),
  elevationGain: Schema.optionalKey(Schema.Finite)
})

const measuresIn = (body: unknown) => Schema.decodeUnknownSync(Measured)(body)

const distancesIn = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Array(Measured))(body).map(({ distance }) => distance)

/** Returns what others see of a route: its measures, and the length of its line. */
const shown = Effect.fnUntraced(function*(id: number) {
  const { body } = yield* (yield* anonymous).get(`/routes/${id}`)
  return { measures: measuresIn(body), metres: metresOf(lineOf(body)) }
})

const found = Effect.fnUntraced(function*(actor: Actor, path: string) {
  const { body, headers } = yield* actor.get(path)
  const ids = idsIn(body)
  assert.strictEqual(headers.get("x-total-count"), String(ids.length))
  return ids
})

const Administered = Schema.Struct({ statistics: Schema.Struct({ totalDistance: Schema.Finite }) })

const totalDistanceOf = (admin: Actor, { id }: Rider) =>
  Effect.map(
    admin.get(`/admin/users/${id}`),
    ({ body }) => Schema.decodeUnknownSync(Administered)(body).statistics.totalDistance
  )

const ADMIN = "admin@admins.example"

layer(TestServer.withSweeps({ ADMIN_EMAILS: ADMIN }, somewhere))("a route that a privacy zone cuts", (it) => {
  it.effect("has the distance, the climb and the share of the duration of the line that others see, in all they see", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const reader = yield* signedIn
      const admin = yield* signedInAs({ email: ADMIN })
      const visitor = yield* anonymous
      const { id, shareToken, ...whole } = yield* publish(rider, { name: "Quittenrunde", duration: 3600 })
      const collection = yield* make(reader, { visibility: "public", routeIds: [id] })
      const unlisted = yield* publish(rider, { visibility: "unlisted", duration: 3600 })
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      const { measures, metres } = yield* shown(id)
      assert.isBelow(metres, 6000 - RADIUS)
      assert.closeTo(measures.distance ?? 0, metres, 2)
      assert.closeTo(measures.duration ?? 0, 3600 * metres / 6000, 2)
      assert.closeTo(measures.elevationGain ?? 0, metres / STEP, 6)
      const single = (actor: Actor, path: string) => Effect.map(actor.get(path), ({ body }) => measuresIn(body))
      const listed = (actor: Actor, path: string) =>
        Effect.map(
          actor.get(path),
          ({ body }) => measuresIn(Schema.decodeUnknownSync(Schema.Array(Schema.Unknown))(body)[0])
        )
      for (
        const [path, seen] of Object.entries({
          token: single(visitor, `/routes/${shareToken}`),
          none: single(visitor, `/routes/${id}?geometry=none`),
          simplified: single(reader, `/routes/${id}?geometry=simplified`),
          polyline6: single(visitor, `/routes/${id}?geometry=polyline6`),
          unlisted: single(reader, `/routes/${unlisted.shareToken}`),
          listing: listed(visitor, "/routes/public?q=quittenrunde"),
          "listing of all": listed(reader, "/routes/public?gate=public&q=quittenrunde"),
          "by user": listed(visitor, `/routes/by-user/${rider.id}`),
          collection: listed(visitor, `/collections/${collection.id}/routes`),
          "own collection": listed(reader, `/collections/${collection.id}/routes?geometry=none`)
        })
      ) {
        assert.deepStrictEqual(yield* seen, measures, path)
      }
      const profile = yield* visitor.get(`/routes/${id}/profile`)
      assert.closeTo(measuresIn(profile.body).distance ?? 0, metres, 2)
      const { text: tcx } = yield* visitor.get(`/routes/${id}/tcx`)
      assert.closeTo(Number(/<DistanceMeters>(.*?)</.exec(tcx)?.[1]), metres, 2)
      const page = yield* visitor.get(`//r/${id}`)
      assert.include(page.text, `${(metres / 1000).toFixed(1)} km`)
      assert.notInclude(page.text, "6.0 km")
      assert.deepStrictEqual(distancesIn((yield* admin.get("/admin/routes?query=quittenrunde")).body), [
        measures.distance
      ])
      assert.closeTo(yield* totalDistanceOf(admin, rider), 2 * (measures.distance ?? 0), 1)
      const newcomer = yield* signedIn
      yield* setZones(newcomer, [{ center: HOME, radius: RADIUS }])
      assert.strictEqual(yield* totalDistanceOf(admin, newcomer), 0)
      const fit = yield* reimported(`/routes/${id}/fit`, reader)
      assert.strictEqual(measuresIn(fit.body).duration, measures.duration)
      const own = measuresIn(whole)
      assert.deepStrictEqual(yield* single(rider, `/routes/${id}`), own)
      assert.deepStrictEqual(yield* listed(rider, `/collections/${collection.id}/routes`), own)
      assert.deepStrictEqual(yield* listed(rider, "/routes?q=quittenrunde"), own)
    }))

  it.effect("has measures of its own also where others were given, and none where there is no line", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const flat = LINE.map(([lng, lat]) => [lng, lat])
      const given = { geometry: flat, distance: 7000, duration: 1000, elevationGain: 70 }
      const { id } = yield* publish(rider, given)
      const far = yield* publish(rider, { ...given, geometry: ray(AWAY, 0, 2000), waypoints: [{ coord: AWAY }] })
      const point = yield* publish(rider, { ...given, geometry: null, waypoints: [{ coord: HOME }] })
      const unmeasured = yield* publish(rider, { distance: null, elevationGain: null })
      yield* rider.patch(`/routes/${unmeasured.id}`, { distance: null, elevationGain: null })
      assert.deepInclude((yield* shown(id)).measures, { distance: 7000, duration: 1000, elevationGain: 70 })
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      const { measures, metres } = yield* shown(id)
      assert.closeTo(measures.distance ?? 0, metres, 2)
      assert.closeTo(measures.duration ?? 0, 1000 * metres / 6000, 1)
      assert.closeTo(measures.elevationGain ?? 0, 70 * metres / 6000, 0.1)
      assert.deepStrictEqual((yield* shown(far.id)).measures, { distance: 7000, duration: 1000, elevationGain: 70 })
      const { body } = yield* (yield* anonymous).get(`/routes/${point.id}`)
      assert.deepStrictEqual(measuresIn(body), {})
      assert.deepStrictEqual((yield* shown(unmeasured.id)).measures, {})
    }))

  it.effect("is measured between two zones, without the gap of one in the middle", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* publish(rider, {
        duration: 6000,
        geometry: climbing(ray(beside(HOME, -9000, 0), 0, 15_000))
      })
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      const { measures, metres } = yield* shown(id)
      assert.isBelow(metres, 9000 - RADIUS)
      assert.closeTo(measures.distance ?? 0, metres, 3)
      assert.closeTo(measures.duration ?? 0, 6000 * metres / 15_000, 2)
      assert.closeTo(measures.elevationGain ?? 0, metres / STEP, 6)
    }))

  it.effect("is found by the distance that others see, and by its owner by the whole one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      const visitor = yield* anonymous
      const { id } = yield* publish(rider, { name: "Mispelrunde" })
      const whole = yield* publish(rider, { name: "Mispelrunde", geometry: ray(AWAY, 0, 6000) })
      const third = yield* publish(other, { name: "Mispelrunde" })
      // The distance that was given is less than what is seen of it.
      const short = yield* publish(rider, { name: "Mispelrunde", distance: 1000 })
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      const ofAll = (filter: string) => found(visitor, `/routes/public?gate=public&q=mispelrunde&${filter}`)
      const ofAny = (filter: string) => Effect.map(ofAll(filter), (ids) => new Set(ids))
      yield* TestClock.adjust("1 second")
      yield* until(Effect.map(ofAny("minDistance=1"), (ids) => ids.size === 4))
      const { measures: { distance = 0 } } = yield* shown(id)
      const seen = Math.floor(distance ?? 0)
      assert.deepStrictEqual(yield* ofAll(`minDistance=${seen + 1}`), [third.id, whole.id])
      assert.deepStrictEqual(yield* ofAll(`minDistance=${seen}`), [short.id, third.id, whole.id, id])
      assert.deepStrictEqual(yield* ofAll(`maxDistance=${seen + 1}`), [short.id, id])
      assert.deepStrictEqual(yield* ofAll(`minDistance=${seen}&maxDistance=${seen + 1}`), [short.id, id])
      const area = "bbox=9,47,10,48"
      assert.deepStrictEqual(yield* ofAll(`${area}&maxDistance=${seen + 1}`), [short.id, id])
      assert.deepStrictEqual(yield* ofAll(`${area}&minDistance=${seen + 1}`), [third.id, whole.id])
      const own = (filter: string) => found(rider, `/routes?q=mispelrunde&sort=distance&${filter}`)
      assert.deepStrictEqual(yield* own(`minDistance=${seen + 1}`), [id, whole.id])
      assert.deepStrictEqual(yield* own("maxDistance=1000"), [short.id])
      assert.deepStrictEqual(yield* own("maxDistance=7000"), [short.id, id, whole.id])
    }))

  it.effect("does not give the home away by what anyone reads, or finds out by a filter", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const lines = [0, 1, 2].map((turn) =>
        street(HOME, 4000, STEP, (metres) => 2 * turn + 0.6 * Math.sin(metres / 300))
      )
      const routes = yield* Effect.forEach(
        lines,
        (geometry) => publish(rider, { name: "Speierlingrunde", geometry, ...measuresOf(geometry) })
      )
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      yield* Effect.forEach(routes, ({ id }) => shown(id))
      const lists = (id: number, metres: number) =>
        Effect.map(
          visitor.get(`/routes/public?gate=public&q=speierlingrunde&minDistance=${metres}&geometry=none`),
          ({ body }) => idsIn(body).includes(id)
        )
      // The search goes by halves, to a metre.
      const longest = (id: number, from: number, to: number): Effect.Effect<number, never, TestServer> =>
        to - from <= 1 ? Effect.succeed(from) : Effect.flatMap(
          lists(id, (from + to) / 2),
          (isListed) => isListed ? longest(id, (from + to) / 2, to) : longest(id, from, (from + to) / 2)
        )
      const seen = yield* Effect.forEach(routes, ({ id }) =>
        Effect.gen(function*() {
          const { body } = yield* visitor.get(`/routes/${id}`)
          const { distance = 0, duration = 0, elevationGain = 0 } = measuresIn(body)
          const filtered = yield* longest(id, 0, 8000)
          const profiled = measuresIn((yield* visitor.get(`/routes/${id}/profile`)).body).distance ?? 0
          const most = Math.max(distance ?? 0, filtered, profiled)
          return { line: lineOf(body), measures: { distance: most, duration, elevationGain } }
        }))
      const misses = Object.entries(estimatesOf(seen)).flatMap(([name, places]) =>
        places.map((place) => [name, metresFrom(HOME, place)] as const)
      )
      assert.isAbove(misses.length, 12)
      for (const [name, miss] of misses) assert.isAtLeast(miss, RADIUS / 3, name)
      const whole = seen.map(({ line }, index) => ({ line, measures: measuresOf(lines[index] ?? []) }))
      const [place = HOME] = estimatesOf(whole)["distance, least squares"] ?? []
      assert.isBelow(metresFrom(HOME, place), RADIUS / 3)
    }))

  it.effect("clears the gate of quality by what others see of it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const name = "Kornelkirschenrunde"
      const long = yield* publish(rider, { name })
      const few = yield* publish(rider, { name, geometry: ray(HOME, 1, 6000, 300) })
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      const left = (yield* shown(long.id)).metres
      const short = yield* publish(rider, { name, geometry: ray(HOME, 1, 6000 - left + 300) })
      for (const { id } of [short, few]) {
        const { measures, metres } = yield* shown(id)
        assert.isAbove(metres, 0)
        assert.isDefined(measures.distance)
      }
      assert.deepStrictEqual(yield* found(visitor, "/routes/public?q=kornelkirschenrunde"), [long.id])
      assert.lengthOf(yield* found(visitor, "/routes/public?gate=public&q=kornelkirschenrunde"), 3)
      const { text: sitemap } = yield* visitor.get("//sitemaps/routes-1.xml")
      assert.include(sitemap, long.shareToken)
      for (const { shareToken } of [short, few]) assert.notInclude(sitemap, shareToken)
    }))

  it.effect("is listed in its place among those of owners without zones, on every page", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const visitor = yield* anonymous
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      const owners = [rider, other, other, rider, rider, other, rider]
      const routes = yield* Effect.forEach(owners, (owner) => publish(owner, { name: "Felsenbirnenrunde" }))
      const newest = routes.map(({ id }) => id).toReversed()
      yield* Effect.forEach(routes, ({ id }) => shown(id))
      for (const filter of ["q=felsenbirnenrunde", "q=felsenbirnenrunde&minDistance=10&gate=public"]) {
        const path = `/routes/public?${filter}&geometry=none`
        assert.deepStrictEqual(yield* found(visitor, path), newest)
        const pages: Array<number> = []
        for (const offset of [0, 2, 4, 6, 8]) {
          const { body, headers } = yield* visitor.get(`${path}&limit=2&offset=${offset}`)
          assert.strictEqual(headers.get("x-total-count"), "7")
          pages.push(...idsIn(body))
        }
        assert.deepStrictEqual(pages, newest)
        const next = /<[^>]*\/api\/v1(\/[^>]*)>; rel="next"/
        const first = yield* visitor.get(`${path}&limit=3`)
        const second = yield* visitor.get(next.exec(first.headers.get("link") ?? "")?.[1] ?? "")
        const third = yield* visitor.get(next.exec(second.headers.get("link") ?? "")?.[1] ?? "")
        assert.deepStrictEqual([first, second, third].flatMap(({ body }) => idsIn(body)), newest)
      }
    }))

  it.effect("does not say by the end of a page how long its hidden part is", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const reader = yield* signedIn
      const ids = yield* Effect.forEach(Array.from({ length: 4 }), () => publish(rider))
      // Four of them are more than a page.
      yield* SqlClient.SqlClient.use((sql) =>
        sql`UPDATE routes SET cues = '[]' || repeat(' ', 5000000) WHERE user_id = ${rider.id}`
      )
      const collection = yield* make(reader, { routeIds: ids.map(({ id }) => id) })
      const listed = Effect.map(reader.get(`/collections/${collection.id}/routes`), ({ body }) => idsIn(body))
      assert.isBelow((yield* listed).length, 4)
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      yield* Effect.forEach(ids, ({ id }) => shown(id))
      assert.lengthOf(yield* listed, 4)
    }))

  it.effect("has no measures for others until its view is made, nor those of a view of an earlier version", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* publish(rider, { duration: 3600 })
      yield* setZones(rider, [{ center: HOME, radius: RADIUS }])
      const visitor = yield* anonymous
      const { measures } = yield* shown(id)
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE route_views SET cut_version = 0, distance = 6000, duration = 3600 WHERE route_id = ${id}`
      const listing = visitor.get(`/routes/by-user/${rider.id}`)
      const { body } = yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`LOCK TABLE route_views IN EXCLUSIVE MODE`
        const listed = yield* Effect.forkChild(listing)
        const blocked = sql`SELECT FROM pg_locks WHERE relation = 'route_views'::regclass AND NOT granted`
        yield* until(Effect.map(blocked, (rows) => rows.length > 0))
        yield* TestClock.adjust("1 second")
        return yield* Fiber.join(listed)
      }))
      assert.deepStrictEqual(idsIn(body), [id])
      assert.deepStrictEqual(distancesIn(body), [undefined])
      assert.deepStrictEqual((yield* shown(id)).measures, measures)
    }))
})
