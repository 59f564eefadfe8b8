import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { askEngine, Engine, engineLayer, extractFile, hasPython } from "./support/Engine.ts"
import { keepRecording, RECORDED, recording } from "./support/Recordings.ts"
import { type Place, TOWN, townLayer } from "./support/Town.ts"

/** The first run installs the engine. */
const PATIENCE = { timeout: "5 minutes" } as const

const Summary = Schema.Struct({ length: Schema.Number, has_ferry: Schema.Boolean })

const RouteAnswer = Schema.Struct({
  trip: Schema.Struct({
    summary: Summary,
    legs: Schema.Array(Schema.Struct({
      summary: Summary,
      shape: Schema.String,
      maneuvers: Schema.Array(Schema.Struct({ street_names: Schema.optionalKey(Schema.Array(Schema.String)) }))
    }))
  })
})

const ErrorAnswer = Schema.Struct({ error_code: Schema.Number, status_code: Schema.Number })

const TraceAnswer = Schema.Struct({
  shape: Schema.String,
  edges: Schema.Array(Schema.Struct({
    names: Schema.Array(Schema.String),
    surface: Schema.String,
    length: Schema.Number,
    begin_shape_index: Schema.Number,
    end_shape_index: Schema.Number
  })),
  matched_points: Schema.Array(Schema.Struct({ type: Schema.String, edge_index: Schema.Number }))
})

const decodeRoute = Schema.decodeUnknownEffect(RouteAnswer)

/** The answer without what may change from one engine's day to the next. */
const essence = Schema.decodeUnknownEffect(Schema.Union([RouteAnswer, TraceAnswer, ErrorAnswer]))

const decodeStatus = Schema.decodeUnknownEffect(Schema.Struct({ version: Schema.String }))

const ask = (from: Place, to: Place, costing: string, preferences: Readonly<Record<string, unknown>> = {}) =>
  askEngine("/route", { locations: [from, to], costing, costing_options: { [costing]: preferences } })

/** How far the route goes, in kilometres, and by which streets. */
const route = Effect.fnUntraced(function*(...parameters: Parameters<typeof ask>) {
  const { body } = yield* ask(...parameters)
  const { trip: { legs, summary } } = yield* decodeRoute(body)
  const streets = legs.flatMap(({ maneuvers }) => maneuvers).flatMap(({ street_names }) => street_names ?? [])
  return { length: summary.length, hasFerry: summary.has_ferry, streets }
})

describe.skipIf(!hasPython)("the real engine (skipped where there is no Python 3.12 or newer)", () => {
  layer(townLayer, PATIENCE)("in a town of our own", (it) => {
    for (const costing of ["bicycle", "pedestrian", "auto"]) {
      it.effect(`by ${costing}, the ferry is taken, and avoided by who asks for that`, () =>
        Effect.gen(function*() {
          const shore = [TOWN.busyEast, TOWN.eastEnd, costing] as const
          assert.deepStrictEqual(yield* route(...shore), {
            length: 3.896,
            hasFerry: true,
            streets: ["Harbour Street", "Town Ferry", "East Bank"]
          })
          assert.deepStrictEqual(yield* route(...shore, { use_ferry: 0 }), {
            length: 8.348,
            hasFerry: false,
            streets: ["Harbour Street", "West Bank", "Town Bridge", "East Bank"]
          })
        }))
    }

    it.effect("the engine cannot keep a walker who starts at the landing from the ferry", () =>
      Effect.gen(function*() {
        const atLanding = [TOWN.landingWest, TOWN.landingEast] as const
        assert.isTrue((yield* route(...atLanding, "pedestrian", { use_ferry: 0 })).hasFerry)
        assert.isFalse((yield* route(...atLanding, "bicycle", { use_ferry: 0 })).hasFerry)
      }))

    it.effect("a cyclist who avoids busy roads goes around by quiet streets", () =>
      Effect.gen(function*() {
        const across = [TOWN.busyWest, TOWN.busyEast, "bicycle"] as const
        const short = { length: 1.113, hasFerry: false, streets: ["Busy Road"] }
        assert.deepStrictEqual(yield* route(...across), short)
        assert.deepStrictEqual(yield* route(...across, { use_roads: 0.5 }), short)
        assert.deepStrictEqual(yield* route(...across, { use_roads: 0.1 }), {
          length: 2.004,
          hasFerry: false,
          streets: ["West Street", "Quiet Street"]
        })
      }))

    it.effect("a cyclist who likes unpaved ways takes the dirt track that others go around", () =>
      Effect.gen(function*() {
        const across = [TOWN.dirtWest, TOWN.dirtEast, "bicycle"] as const
        const long = { length: 1.893, hasFerry: false, streets: ["West Street", "Paved Street"] }
        assert.deepStrictEqual(yield* route(...across), long)
        assert.deepStrictEqual(yield* route(...across, { bicycle_type: "Road", avoid_bad_surfaces: 0.8 }), long)
        const gravel = { bicycle_type: "Cross", avoid_bad_surfaces: 0, use_roads: 0.1 }
        assert.deepStrictEqual(yield* route(...across, gravel), {
          length: 1.113,
          hasFerry: false,
          streets: ["Dirt Track"]
        })
      }))

    it.effect("a cyclist who avoids unpaved ways goes around the firm track that others take", () =>
      Effect.gen(function*() {
        const across = [TOWN.firmWest, TOWN.firmEast, "bicycle"] as const
        const short = { length: 1.113, hasFerry: false, streets: ["Firm Track"] }
        assert.deepStrictEqual(yield* route(...across), short)
        assert.deepStrictEqual(yield* route(...across, { bicycle_type: "Cross", avoid_bad_surfaces: 0 }), short)
        assert.deepStrictEqual(yield* route(...across, { bicycle_type: "Road", avoid_bad_surfaces: 0.8 }), {
          length: 1.559,
          hasFerry: false,
          streets: ["West Street", "South Street"]
        })
      }))

    it.effect("a walker takes tracks, and avoids them if asked", () =>
      Effect.gen(function*() {
        const across = [TOWN.dirtWest, TOWN.dirtEast, "pedestrian"] as const
        const short = { length: 1.113, hasFerry: false, streets: ["Dirt Track"] }
        assert.deepStrictEqual(yield* route(...across), short)
        assert.deepStrictEqual(yield* route(...across, { use_tracks: 1 }), short)
        assert.deepStrictEqual(yield* route(...across, { use_tracks: 0 }), {
          length: 1.893,
          hasFerry: false,
          streets: ["West Street", "Paved Street"]
        })
      }))

    it.effect("nobody gets into the closed street", () =>
      Effect.gen(function*() {
        for (const costing of ["bicycle", "pedestrian", "auto"]) {
          assert.deepStrictEqual(yield* route(TOWN.closedWest, TOWN.closedEast, costing), {
            length: 1.558,
            hasFerry: false,
            streets: ["West Street", "Open Street"]
          })
        }
      }))

    it.effect("no path and no road near are told apart", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* ask(TOWN.busyWest, TOWN.island, "bicycle"), {
          status: 400,
          body: {
            error_code: 442,
            error: "No path could be found for input",
            status_code: 400,
            status: "Bad Request"
          }
        })
        assert.deepStrictEqual(yield* ask(TOWN.busyWest, TOWN.ocean, "bicycle"), {
          status: 400,
          body: {
            error_code: 171,
            error: "No suitable edges near location",
            status_code: 400,
            status: "Bad Request"
          }
        })
      }))

    for (const { name, path, request } of RECORDED) {
      it.effect(`it still answers as recorded: ${name} (RECORD=1 records it anew)`, () =>
        Effect.gen(function*() {
          const { body, status } = yield* askEngine(path, request)
          const { version } = yield* decodeStatus((yield* askEngine("/status", {})).body)
          const now = { engineVersion: version, path, request, status, response: body }
          if (process.env["RECORD"] === "1") yield* Effect.promise(() => keepRecording(name, now))
          const kept = yield* Effect.promise(() => recording(name))
          assert.deepStrictEqual(
            { ...now, response: yield* essence(now.response) },
            { ...kept, response: yield* essence(kept.response) }
          )
        }))
    }
  })
})

const extract = extractFile()

describe.skipIf(!hasPython || extract === undefined)(
  "real roads (skipped without Python 3.12, ENGINE_EXTRACT or Liechtenstein's file)",
  () => {
    layer(engineLayer(extract ?? ""), PATIENCE)((it) => {
      it.effect("the engine says its version", () =>
        Effect.gen(function*() {
          const { url } = yield* Engine
          assert.strictEqual(url.hostname, "127.0.0.1")
          const { version } = yield* decodeStatus((yield* askEngine("/status", {})).body)
          assert.strictEqual(version, "3.9.1")
        }))
    })
  }
)
