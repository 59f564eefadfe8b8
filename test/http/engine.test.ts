import { assert, describe, layer } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import { Effect, Layer, Schema } from "effect"
import { RoutingAnswer } from "../../src/schema/Routing.ts"
import { anonymous } from "../support/Actors.ts"
import { Engine, hasEngine } from "../support/Engine.ts"
import { type Recording, recording, SEARCHED, WALKED } from "../support/Recordings.ts"
import { json, StandInEngine } from "../support/StandInEngine.ts"
import { TestServer } from "../support/TestServer.ts"
import { type Place, TOWN, townLayer } from "../support/Town.ts"

const Answer = Schema.Struct({
  legs: Schema.Array(Schema.Struct({
    shape: Schema.String,
    summary: Schema.Struct({ length: Schema.Finite, time: Schema.Finite })
  })),
  locations: Schema.Array(Schema.Struct({ lat: Schema.Finite, lon: Schema.Finite, original_index: Schema.Int })),
  warnings: Schema.Array(Schema.Struct({ code: Schema.String, message: Schema.String }))
})

const decode = Schema.decodeUnknownEffect(Answer, { onExcessProperty: "error" })

const ask = (activity: string, preferences: object, ...locations: ReadonlyArray<Place>) =>
  Effect.flatMap(anonymous, (visitor) => visitor.post("/routing/route", { activity, preferences, locations }))

/** Returns how far a route goes, in kilometres, and what is said about it. */
const route = Effect.fnUntraced(function*(...request: Parameters<typeof ask>) {
  const { body, text } = yield* ask(...request)
  const { legs, warnings } = yield* decode(body).pipe(Effect.orElseSucceed(() => assert.fail(text)))
  return {
    length: Number(legs.reduce((sum, { summary }) => sum + summary.length, 0).toFixed(3)),
    warnings: warnings.map(({ code }) => code)
  }
})

const realLayer = Layer.unwrap(Effect.map(Engine, ({ url }) => TestServer.layer({ ROUTING_ENGINE_URL: url.href })))
  .pipe(
    Layer.provide(townLayer)
  )

describe.skipIf(!hasEngine)("routing by the real engine (skipped where it cannot be installed)", () => {
  layer(realLayer, { timeout: "5 minutes", excludeTestServices: true })("in a town of our own", (it) => {
    it.effect("a ferry is avoided where there is a bridge, and a warning where there is none", () =>
      Effect.gen(function*() {
        for (const activity of ["cycle", "walk", "run"]) {
          const across = [TOWN.busyEast, TOWN.eastEnd] as const
          assert.deepStrictEqual(yield* route(activity, {}, ...across), { length: 3.896, warnings: [] })
          assert.deepStrictEqual(yield* route(activity, { avoidFerries: true }, ...across), {
            length: 8.348,
            warnings: []
          })
        }
        const { warnings } = yield* route("walk", { avoidFerries: true }, TOWN.landingWest, TOWN.landingEast)
        assert.deepStrictEqual(warnings, ["ferry_used"])
      }))

    it.effect("maneuvers of a route have instructions in its language, and indexes into the line", () =>
      Effect.gen(function*() {
        const locations = [TOWN.busyWest, TOWN.busyEast, TOWN.eastEnd]
        const { body } = yield* (yield* anonymous).post("/routing/route?directions=true&language=de", {
          activity: "cycle",
          preferences: {},
          locations
        })
        const { legs, maneuvers } = yield* Schema.decodeUnknownEffect(RoutingAnswer)(body).pipe(Effect.orDie)
        const last = legs.reduce((sum, { shape }) => sum + polyline.decode(shape, 6).length - 1, 0)
        assert.deepInclude(maneuvers?.[0], {
          instruction: "Auf Busy Road Richtung Osten radeln.",
          type: 1,
          begin_shape_index: 0,
          length: 1.113
        })
        assert.deepInclude(maneuvers?.at(-1), { instruction: "Ziel erreicht.", type: 4, begin_shape_index: last })
      }))

    it.effect("an engine without elevation data fills none, and the response has a warning", () =>
      Effect.gen(function*() {
        const geometry = [[10, 0.01], [10.001, 0.01, 12]]
        const { body } = yield* (yield* anonymous).post("/routing/elevation", { geometry })
        assert.deepStrictEqual(body, { filled: 0, missing: 1, geometry })
      }))

    it.effect("busy roads are avoided by cyclists who ask for it", () =>
      Effect.gen(function*() {
        const across = [TOWN.busyWest, TOWN.busyEast] as const
        assert.strictEqual((yield* route("cycle", {}, ...across)).length, 1.113)
        assert.strictEqual((yield* route("cycle", { avoidHighways: true }, ...across)).length, 2.003)
      }))

    it.effect("cyclists who avoid highways leave a motorway, or get a warning where that is impossible", () =>
      Effect.gen(function*() {
        const across = [TOWN.motorwayWest, TOWN.motorwayEast] as const
        assert.deepStrictEqual(yield* route("cycle", {}, ...across), { length: 1.113, warnings: [] })
        assert.deepStrictEqual(yield* route("cycle", { avoidHighways: true }, ...across), {
          length: 3.563,
          warnings: []
        })
        const beyond = [TOWN.motorwayWest, TOWN.outpost] as const
        assert.deepStrictEqual((yield* route("cycle", {}, ...beyond)).warnings, [])
        assert.deepStrictEqual((yield* route("cycle", { avoidHighways: true }, ...beyond)).warnings, ["highway_used"])
      }))

    it.effect("walkers who avoid highways take a footpath that goes the same way; a motorway is a warning", () =>
      Effect.gen(function*() {
        for (const activity of ["walk", "run"]) {
          const across = [TOWN.motorwayWest, TOWN.motorwayEast] as const
          assert.deepStrictEqual(yield* route(activity, {}, ...across), { length: 1.113, warnings: [] })
          assert.deepStrictEqual(yield* route(activity, { avoidHighways: true }, ...across), {
            length: 1.245,
            warnings: []
          })
          const beyond = yield* route(activity, { avoidHighways: true }, TOWN.motorwayWest, TOWN.outpost)
          assert.deepStrictEqual(beyond.warnings, ["highway_used"])
        }
      }))

    it.effect("walkers who avoid highways stay on a busy road with no footpath: the engine does not know it on foot", () =>
      Effect.gen(function*() {
        for (const activity of ["walk", "run"]) {
          const avoiding = yield* route(activity, { avoidHighways: true }, TOWN.busyWest, TOWN.busyEast)
          assert.strictEqual(avoiding.length, 1.113)
        }
      }))

    it.effect("unpaved ways are sought and shunned by bicycle, and tracks on foot, where the engine knows no surfaces", () =>
      Effect.gen(function*() {
        const dirt = [TOWN.dirtWest, TOWN.dirtEast] as const
        const firm = [TOWN.firmWest, TOWN.firmEast] as const
        const field = [TOWN.fieldWest, TOWN.fieldEast] as const
        const by = (activity: string, surfacePreference: string, way: readonly [Place, Place]) =>
          Effect.map(route(activity, { surfacePreference }, ...way), ({ length }) => length)
        assert.strictEqual(yield* by("cycle", "any", dirt), 1.893)
        assert.strictEqual(yield* by("cycle", "unpaved", dirt), 1.113)
        assert.strictEqual(yield* by("cycle", "any", firm), 1.113)
        assert.strictEqual(yield* by("cycle", "paved", firm), 1.559)
        for (const activity of ["walk", "run"]) {
          assert.strictEqual(yield* by(activity, "any", dirt), 1.113)
          assert.strictEqual(yield* by(activity, "paved", dirt), 1.893)
          assert.strictEqual(yield* by(activity, "any", field), 1.113)
          assert.strictEqual(yield* by(activity, "unpaved", field), 1.245)
        }
      }))

    it.effect("a route that wants paved ways and has none gets a warning", () =>
      Effect.gen(function*() {
        const between = (share: number) => ({
          lat: TOWN.dirtWest.lat + share * (TOWN.dirtEast.lat - TOWN.dirtWest.lat),
          lon: TOWN.dirtWest.lon + share * (TOWN.dirtEast.lon - TOWN.dirtWest.lon)
        })
        for (const activity of ["cycle", "walk", "run"]) {
          const { warnings } = yield* route(activity, { surfacePreference: "paved" }, between(0.4), between(0.6))
          assert.deepStrictEqual(warnings, ["unpaved_used"], activity)
          const paved = yield* route(activity, { surfacePreference: "paved" }, TOWN.busyWest, TOWN.busyEast)
          assert.deepStrictEqual(paved.warnings, [], activity)
        }
      }))

    it.effect("a closed street is in no route", () =>
      Effect.gen(function*() {
        for (const activity of ["cycle", "walk", "run"]) {
          assert.strictEqual((yield* route(activity, {}, TOWN.closedWest, TOWN.closedEast)).length, 1.558)
        }
      }))

    it.effect("locations are where they were snapped, one for each in the request", () =>
      Effect.gen(function*() {
        const beside = { lat: TOWN.dirtWest.lat + 0.0002, lon: TOWN.dirtWest.lon - 0.0003 }
        const { body } = yield* ask("cycle", {}, TOWN.busyWest, beside, TOWN.closedEast)
        const { legs, locations } = yield* decode(body)
        assert.strictEqual(legs.length, 2)
        assert.deepStrictEqual(locations.map(({ original_index }) => original_index), [0, 1, 2])
        assert.notDeepEqual({ lat: locations[1]?.lat, lon: locations[1]?.lon }, beside)
        assert.approximately(locations[1]?.lon ?? 0, TOWN.dirtWest.lon, 0.0001)
      }))

    it.effect("no path and no road near are different errors", () =>
      Effect.gen(function*() {
        const noPath = yield* ask("cycle", {}, TOWN.busyWest, TOWN.island)
        assert.deepInclude(noPath.body, { statusCode: 404, details: { reason: "no_path" } })
        const noRoad = yield* ask("cycle", {}, TOWN.river, TOWN.busyWest, TOWN.ocean)
        assert.deepStrictEqual(noRoad.body, {
          statusCode: 404,
          code: "NOT_FOUND",
          message: "There is no road within 1000 m of locations.0, locations.2",
          details: { reason: "no_road_near_location", locations: [0, 2] }
        })
      }))

    it.effect("a road is near within a kilometre", () =>
      Effect.gen(function*() {
        for (const activity of ["cycle", "walk", "run"]) {
          assert.strictEqual((yield* ask(activity, {}, TOWN.meadow, TOWN.busyWest)).status, 200)
          assert.strictEqual((yield* ask(activity, {}, TOWN.busyWest, TOWN.river)).status, 404)
        }
      }))

    it.effect("a walking speed is walked", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        const time = Effect.fnUntraced(function*(walkingSpeedKmh: number) {
          const locations = [TOWN.busyWest, TOWN.busyEast]
          const { body } = yield* visitor.post("/routing/route", {
            activity: "walk",
            preferences: {},
            locations,
            walkingSpeedKmh
          })
          return (yield* decode(body)).legs[0]?.summary.time ?? 0
        })
        assert.approximately((yield* time(3)) / (yield* time(6)), 2, 0.1)
      }))

    it.effect("a recorded trace has the surfaces of the ways that it followed", () =>
      Effect.gen(function*() {
        const shape = Array.from({ length: 20 }, (_, n) => ({ lat: 0.02001, lon: 10.0005 + n * 0.00045 }))
        const visitor = yield* anonymous
        const { body } = yield* visitor.post("/routing/trace-attributes", { activity: "walk", shape })
        const { coverage, edges, surfaces } = yield* Schema.decodeUnknownEffect(Schema.Struct({
          coverage: Schema.Finite,
          edges: Schema.Array(Schema.Struct({ surface: Schema.String, names: Schema.Array(Schema.String) })),
          surfaces: Schema.Array(Schema.Struct({ surface: Schema.String, share: Schema.Finite }))
        }))(body)
        assert.isAbove(coverage, 0.95)
        assert.isTrue(edges.every(({ names }) => names.includes("Dirt Track")))
        assert.deepStrictEqual(surfaces.map(({ share }) => share), [1])
      }))

    it.effect("readiness knows the engine, its version and the date of its map", () =>
      Effect.gen(function*() {
        const { body } = yield* (yield* anonymous).get("//health/ready")
        const { routingEngine } = yield* Schema.decodeUnknownEffect(
          Schema.Struct({ routingEngine: Schema.Record(Schema.String, Schema.String) })
        )(body)
        assert.deepInclude(routingEngine, { status: "ok", version: "3.9.1" })
        assert.match(routingEngine["tiles"] ?? "", /^\d{4}-/)
      }))
  })
})

const standInLayer = Layer.unwrap(
  Effect.map(StandInEngine, ({ url }) => TestServer.layer({ ROUTING_ENGINE_URL: url }))
).pipe(Layer.provideMerge(StandInEngine.layer))

/** Lets the engine respond as the real one did once, and returns the recording. */
const replayed = Effect.fnUntraced(function*(name: string) {
  const kept = yield* Effect.promise(() => recording(name))
  yield* (yield* StandInEngine).behave(json(kept.response, kept.status))
  return kept
})

const decodeJson = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** Asserts that the service sent the request that the recording responds to. */
const isAsked = Effect.fnUntraced(function*({ path, request }: Recording) {
  const last = (yield* StandInEngine).asked.findLast((call) => call.path === path)
  assert.deepStrictEqual(decodeJson(last?.body), request)
})

layer(standInLayer)("recorded responses of the real engine", (it) => {
  it.effect("are what the contract names", () =>
    Effect.gen(function*() {
      const kept = yield* replayed("bicycle-three-locations")
      const { body } = yield* ask("cycle", {}, TOWN.busyWest, TOWN.dirtWest, TOWN.closedEast)
      yield* isAsked(kept)
      const { legs, locations, warnings } = yield* decode(body)
      assert.deepStrictEqual([legs.length, locations.length, warnings], [2, 3, []])
    }))

  it.effect("that do not avoid what they should warn of it", () =>
    Effect.gen(function*() {
      const ferry = yield* replayed("pedestrian-ferry")
      const byFerry = yield* route("walk", { avoidFerries: true }, TOWN.landingWest, TOWN.landingEast)
      yield* isAsked(ferry)
      assert.deepStrictEqual(byFerry.warnings, ["ferry_used"])

      const motorway = yield* replayed("bicycle-motorway")
      const byMotorway = yield* route("cycle", { avoidHighways: true }, TOWN.motorwayWest, TOWN.outpost)
      yield* isAsked(motorway)
      assert.deepStrictEqual(byMotorway.warnings, ["highway_used"])
    }))

  it.effect("that are refusals have a reason", () =>
    Effect.gen(function*() {
      const refusals = [
        ["no-path", "no_path", TOWN.island],
        ["no-road", "no_road_near_location", TOWN.ocean]
      ] as const
      for (const [name, reason, place] of refusals) {
        const kept = yield* replayed(name)
        const answer = yield* ask("cycle", {}, TOWN.busyWest, place)
        yield* isAsked(kept)
        assert.deepInclude(answer.body, { statusCode: 404, details: { reason } })
      }
    }))

  it.effect("that name locations without a road near are passed on", () =>
    Effect.gen(function*() {
      const engine = yield* StandInEngine
      const [refused, located] = yield* Effect.promise(() =>
        Promise.all([recording("no-road-within"), recording("locate")])
      )
      yield* engine.behave((request, response) => {
        const { response: body, status } = request.path === "/locate" ? located : refused
        json(body, status)(request, response)
      })
      const answer = yield* ask("cycle", {}, ...SEARCHED)
      assert.deepInclude(answer.body, {
        statusCode: 404,
        details: { reason: "no_road_near_location", locations: [2, 3] }
      })
      yield* isAsked(refused)
      yield* isAsked(located)
    }))

  it.effect("of a trace have its surfaces", () =>
    Effect.gen(function*() {
      const kept = yield* replayed("trace-attributes")
      const { body, status } = yield* (yield* anonymous).post("/routing/trace-attributes", {
        activity: "walk",
        shape: WALKED
      })
      yield* isAsked(kept)
      assert.strictEqual(status, 200)
      const { surfaces } = yield* Schema.decodeUnknownEffect(
        Schema.Struct({ surfaces: Schema.Array(Schema.Struct({ share: Schema.Finite })) })
      )(body)
      assert.approximately(surfaces.reduce((sum, { share }) => sum + share, 0), 1, 0.001)
    }))
})
