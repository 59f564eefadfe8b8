import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CollectionPatch, NewCollection } from "../../src/schema/Collection.ts"
import { NewRoute, RoutePatch } from "../../src/schema/Route.ts"
import { ProfilePatch } from "../../src/schema/User.ts"
import { type Rider, signedIn } from "../support/Actors.ts"
import { archiveOf, imported } from "../support/Archives.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { membersLike, membersOf, valuesAt, without } from "../support/Members.ts"
import { idOf, idsIn } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const cue = (type: number) => ({
  instruction: `Instruction ${type}`,
  type,
  begin_shape_index: 1,
  length: type / 8,
  time: type
})

const line = (lat: number) => [[9.5, lat, 450], [9.51, lat + 0.01, 460.5], [9.52, lat, 440]]

/** Each schema has a body with every member, and another that changes every member. */
const ROUTE = {
  name: "First name",
  waypoints: [{ coord: [9.5, 47.1], type: "routed", name: "Start", timestamp: "2026-01-01T00:00:00Z" }],
  visibility: "unlisted",
  provenance: "generation",
  description: "First description",
  activity: "run",
  geometry: line(47.1),
  polyline6: "_izlhA~rlgdF_{geC~ywl@",
  segments: [0, 1],
  distance: 1111.5,
  duration: 222,
  elevationGain: 33.5,
  startAddress: "First street 1",
  endAddress: "First street 2",
  routingPreferences: { surfacePreference: "paved", avoidFerries: true, avoidHighways: false },
  cues: [cue(8)],
  surfaces: [{ surface: "paved_smooth", length: 1.5, share: 0.75 }],
  tags: ["first"],
  recordedAt: "2026-01-01T08:30:00.000Z",
  source: { provider: "strava", externalId: "first", url: "https://first.example/1" },
  favourite: true
}

const CHANGED_ROUTE = {
  name: "Second name",
  waypoints: [{ coord: [9.6, 47.2], type: "direct", name: "Begin", timestamp: "2026-02-02T00:00:00Z" }],
  visibility: "private",
  provenance: "legacy-provider",
  description: "Second description",
  activity: "cycle",
  geometry: line(47.2),
  polyline6: "_p~iF~ps|U_ulLnnqC??",
  segments: [0, 2],
  distance: 4444.5,
  duration: 555,
  elevationGain: 66.5,
  startAddress: "Second street 1",
  endAddress: "Second street 2",
  routingPreferences: { surfacePreference: "unpaved", avoidFerries: false, avoidHighways: true },
  cues: [{ ...cue(10), begin_shape_index: 0 }],
  surfaces: [{ surface: "gravel", length: 2.5, share: 1 }],
  tags: ["second"],
  recordedAt: "2025-02-02T06:00:00.500Z",
  source: { provider: "garmin", externalId: "second", url: "https://second.example/2" },
  favourite: false
}

const COLLECTION = { name: "First list", description: "First description", visibility: "unlisted", routeIds: [0] }

const CHANGED_COLLECTION = { name: "Second list", description: "Second description", visibility: "private" }

const PROFILE = {
  name: "First Rider",
  handle: "first-rider",
  avatar: "https://example.com/first.png",
  preferences: {
    units: "imperial",
    showPois: true,
    terrain3d: true,
    autoSnap: true,
    defaultActivity: "run",
    selectedSports: ["run"],
    mapStyle: "first",
    defaultRouteVisibility: "unlisted",
    sportSpeeds: { run: 11, cycle: 22, walk: 5 },
    overlays: {
      heatmap: true,
      contour: true,
      bike: true,
      surface: true,
      wind: true,
      hikingNodes: true,
      cyclingNodes: true
    },
    routingDefaults: {
      cycle: ROUTE.routingPreferences,
      run: ROUTE.routingPreferences,
      walk: ROUTE.routingPreferences
    }
  }
}

const CHANGED_PROFILE = {
  name: "Second Rider",
  handle: "second-rider",
  avatar: "https://example.com/second.png",
  preferences: {
    units: "metric",
    showPois: false,
    terrain3d: false,
    autoSnap: false,
    defaultActivity: "cycle",
    selectedSports: ["cycle", "walk"],
    mapStyle: "second",
    defaultRouteVisibility: "private",
    sportSpeeds: { run: 12, cycle: 23, walk: 6 },
    overlays: {
      heatmap: false,
      contour: false,
      bike: false,
      surface: false,
      wind: false,
      hikingNodes: false,
      cyclingNodes: false
    },
    routingDefaults: {
      cycle: CHANGED_ROUTE.routingPreferences,
      run: CHANGED_ROUTE.routingPreferences,
      walk: CHANGED_ROUTE.routingPreferences
    }
  }
}

/** These come back otherwise than they were sent, or not, for the reasons beside them. */
const EXCEPTIONS = {
  line: { polyline6: "A route is sent with a geometry or a polyline6, so each is tried by itself" },
  alone: {
    segments: "A line is sent with its segments"
  },
  newLine: {
    cues: "They are turns of the line that was",
    surfaces: "They are those of the line that was",
    segments: "They are parts of the line that was",
    distance: "It is measured, where none is sent with the line",
    elevationGain: "It is that of the elevations, where the line has them and none is sent with it"
  },
  importedProfile: {
    name: "The account that imports keeps its name",
    handle: "A handle belongs to one account",
    avatar: "The account that imports keeps its picture"
  },
  importedCollection: {
    routeIds: "Routes have other ids in the account that imports: their number and order is compared"
  }
}

/** It says which call this is, and is no member of what the call makes. */
const REPEATABLE = { clientId: "5b0e6d0a-6c38-4c44-8a29-2f0f3f4ad001" }

const except = (body: unknown, reasons: Readonly<Record<string, string>>) => without(body, Object.keys(reasons))

const SAMPLES: Readonly<Record<string, { readonly schema: Schema.Top; readonly body: unknown }>> = {
  RouteInput: { schema: NewRoute, body: { ...ROUTE, ...REPEATABLE } },
  RoutePatch: { schema: RoutePatch, body: CHANGED_ROUTE },
  CollectionInput: { schema: NewCollection, body: { ...COLLECTION, ...REPEATABLE } },
  CollectionPatch: { schema: CollectionPatch, body: CHANGED_COLLECTION },
  ProfilePatch: { schema: ProfilePatch, body: PROFILE },
  "ProfilePatch, once more": { schema: ProfilePatch, body: CHANGED_PROFILE }
}

const readRoute = (rider: Rider, id: number, geometry = "full") =>
  Effect.map(rider.get(`/routes/${id}?geometry=${geometry}`), ({ body }) => body)

const Synced = Schema.Struct({
  changes: Schema.Array(Schema.Struct({
    type: Schema.String,
    route: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
    collection: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
  }))
})

const synced = (rider: Rider) =>
  Effect.map(rider.get("/sync?geometry=full"), ({ body }) => Schema.decodeUnknownSync(Synced)(body).changes)

const Results = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({ status: Schema.Int, route: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)) })
  )
})

const inBatch = (rider: Rider, operation: unknown) =>
  Effect.map(
    rider.post("/routes/batch", { operations: [operation] }),
    ({ body }) => Schema.decodeUnknownSync(Results)(body).results[0]
  )

/** Asserts that each member of a body was read as it was sent, and names those that were not. */
const assertRead = (sent: unknown, read: unknown, way: string) =>
  assert.deepStrictEqual(membersLike(sent, read), without(sent, []), way)

layer(TestServer.layer())("every member", (it) => {
  it.effect("that a body may have has a value in this test, and another one to change it", () =>
    Effect.sync(() => {
      for (const [name, { body, schema }] of Object.entries(SAMPLES)) {
        const members = membersOf(schema)
        assert.isAbove(members.length, 2)
        assert.deepStrictEqual(
          members.filter((member) => valuesAt(body, member).length === 0),
          [],
          `${name}: its samples, such as ROUTE and CHANGED_ROUTE, want a value`
        )
      }
      const pairs = [[RoutePatch, ROUTE, CHANGED_ROUTE], [CollectionPatch, COLLECTION, CHANGED_COLLECTION], [
        ProfilePatch,
        PROFILE,
        CHANGED_PROFILE
      ]] as const
      for (const [schema, first, second] of pairs) {
        const isSame = (member: string) =>
          JSON.stringify(valuesAt(first, member)) === JSON.stringify(valuesAt(second, member))
        assert.deepStrictEqual(membersOf(schema).filter(isSame), [])
      }
    }))

  it.effect("of a route comes back from a read, and after a change", () =>
    Effect.gen(function*() {
      const lines = [["geometry", "full", "polyline6"], ["polyline6", "polyline6", "geometry"]] as const
      for (const [member, form, other] of lines) {
        // A source belongs to one route of an account.
        const rider = yield* signedIn
        const sent = without(ROUTE, [other])
        const id = idOf((yield* rider.post("/routes", sent)).body)
        assertRead(sent, yield* readRoute(rider, id, form), `created with ${member}`)
        const changes = without(CHANGED_ROUTE, [other])
        assert.strictEqual((yield* rider.patch(`/routes/${id}`, changes)).status, 200)
        assertRead(changes, yield* readRoute(rider, id, form), `changed with ${member}`)
      }
    }))

  it.effect("of a route changes alone, and leaves the others as they are", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const sent = except(ROUTE, EXCEPTIONS.line)
      const id = idOf((yield* rider.post("/routes", sent)).body)
      for (const [name, value] of Object.entries(except(CHANGED_ROUTE, { ...EXCEPTIONS.line, ...EXCEPTIONS.alone }))) {
        yield* rider.patch(`/routes/${id}`, sent)
        yield* rider.patch(`/routes/${id}`, { [name]: value })
        const expected = except({ ...sent, [name]: value }, name === "geometry" ? EXCEPTIONS.newLine : {})
        assertRead(expected, yield* readRoute(rider, id), name)
      }
    }))

  it.effect("of a route that its owner alone sees changes its entity tag", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const visible = { name: "x", waypoints: [{ coord: [9.5, 47.1] }], geometry: ROUTE.geometry, visibility: "public" }
      for (const [name, value] of Object.entries(except(ROUTE, { ...EXCEPTIONS.line, visibility: "It is public" }))) {
        const made = yield* rider.post("/routes", { ...visible, [name]: value })
        const path = `/routes/${idOf(made.body)}`
        const [own, theirs] = [yield* rider.get(path), yield* other.get(path)]
        const isSame = JSON.stringify(own.body) === JSON.stringify(theirs.body)
        assert.strictEqual(own.headers.get("etag") === theirs.headers.get("etag"), isSame, name)
      }
    }))

  it.effect("of a collection comes back from a read, and after a change", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const sent = { ...COLLECTION, routeIds: [yield* makeRoute(rider), yield* makeRoute(rider)] }
      const { id } = yield* make(rider, sent)
      assertRead(sent, (yield* rider.get(`/collections/${id}`)).body, "created")
      yield* rider.patch(`/collections/${id}`, CHANGED_COLLECTION)
      assertRead({ ...sent, ...CHANGED_COLLECTION }, (yield* rider.get(`/collections/${id}`)).body, "changed")
    }))

  it.effect("of a profile comes back from a read, and after a change", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const changes of [PROFILE, CHANGED_PROFILE]) {
        assert.strictEqual((yield* rider.patch("/users/me", changes)).status, 200)
        assertRead(changes, (yield* rider.get("/users/me")).body, "changed")
      }
    }))

  it.effect("survives a batch and the change feed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const sent = except(ROUTE, EXCEPTIONS.line)
      const made = yield* inBatch(rider, { op: "create", route: sent })
      assert.strictEqual(made?.status, 201)
      const id = idOf(made?.route)
      assertRead(sent, yield* readRoute(rider, id), "created in a batch")
      assertRead(sent, (yield* synced(rider))[0]?.route, "created, in /sync")
      const changes = except(CHANGED_ROUTE, EXCEPTIONS.line)
      assert.strictEqual((yield* inBatch(rider, { op: "update", id, changes }))?.status, 200)
      assertRead(changes, yield* readRoute(rider, id), "changed in a batch")
      assertRead(changes, (yield* synced(rider))[0]?.route, "changed, in /sync")

      const collection = { ...COLLECTION, routeIds: [id] }
      yield* make(rider, collection)
      const ofCollection = (yield* synced(rider)).find(({ type }) => type === "collection")
      assertRead(collection, ofCollection?.collection, "in /sync")
    }))

  it.effect("survives the export and the import of an account", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const sent = except(ROUTE, EXCEPTIONS.line)
      const routeIds = [idOf((yield* rider.post("/routes", sent)).body), yield* makeRoute(rider, { name: "Last" })]
      yield* make(rider, { ...COLLECTION, routeIds })
      yield* rider.patch("/users/me", { ...PROFILE, handle: "exported-rider" })
      assert.strictEqual((yield* imported(other, yield* archiveOf(rider))).status, 201)

      const ids = idsIn((yield* other.get("/routes?sort=name&geometry=none")).body)
      assertRead(sent, yield* readRoute(other, ids[0] ?? 0), "route")
      const [collection] = Schema.decodeUnknownSync(Schema.Array(Schema.Unknown))(
        (yield* other.get("/collections")).body
      )
      assertRead(except(COLLECTION, EXCEPTIONS.importedCollection), collection, "collection")
      assertRead({ routeIds: ids }, collection, "routes of the collection")
      assertRead(except(PROFILE, EXCEPTIONS.importedProfile), (yield* other.get("/users/me")).body, "profile")
    }))
})
