import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { dirname, resolve } from "node:path"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import { freePort } from "../../development/FreePort.ts"
import { outputOf } from "../../development/RoutingEnginePackages.ts"
import { routingEngine } from "../../development/RoutingEngineProcess.ts"
import { askEngine, Engine, ENGINE_DIRECTORY, engineLayer, extractFile, hasEngine } from "../support/Engine.ts"
import { listening } from "../support/Listening.ts"
import { keepRecording, RECORDED, recording, requestOf } from "../support/Recordings.ts"
import { type Place, TOWN, townExtract, townLayer } from "../support/Town.ts"
import { until } from "../support/Waiting.ts"

/** The first run installs the engine, which is waited for in real time. */
const PATIENCE = { timeout: "5 minutes", excludeTestServices: true } as const

const Summary = Schema.Struct({ length: Schema.Number, has_ferry: Schema.Boolean, has_highway: Schema.Boolean })

const RouteAnswer = Schema.Struct({
  trip: Schema.Struct({
    summary: Summary,
    legs: Schema.Array(Schema.Struct({
      summary: Summary,
      shape: Schema.String,
      maneuvers: Schema.optionalKey(
        Schema.Array(Schema.Struct({ street_names: Schema.optionalKey(Schema.Array(Schema.String)) }))
      )
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

const LocateAnswer = Schema.Array(
  Schema.Struct({ input_lat: Schema.Number, input_lon: Schema.Number, edges: Schema.Array(Schema.Unknown) })
)

const decodeRoute = Schema.decodeUnknownEffect(RouteAnswer)

/** Leaves out of a response what may change from one day of the engine to the next. */
const essence = Schema.decodeUnknownEffect(Schema.Union([RouteAnswer, TraceAnswer, LocateAnswer, ErrorAnswer]))

const decodeStatus = Schema.decodeUnknownEffect(Schema.Struct({ version: Schema.String }))

const ask = (from: Place, to: Place, costing: string, preferences: Readonly<Record<string, unknown>> = {}) =>
  askEngine("/route", { locations: [from, to], costing, costing_options: { [costing]: preferences } })

/** Returns how far the route goes, in kilometres, and by which streets. */
const route = Effect.fnUntraced(function*(...parameters: Parameters<typeof ask>) {
  const { body } = yield* ask(...parameters)
  const { trip: { legs, summary } } = yield* decodeRoute(body)
  const streets = legs.flatMap(({ maneuvers = [] }) => maneuvers).flatMap(({ street_names }) => street_names ?? [])
  return { length: summary.length, hasFerry: summary.has_ferry, streets: [...new Set(streets)] }
})

/** Returns the reason why the engine does not start. */
const refusal = (options: { readonly extract: string; readonly port: number | undefined }) =>
  routingEngine({ directory: ENGINE_DIRECTORY, ...options }).pipe(
    Effect.scoped,
    Effect.flip,
    Effect.map(({ message }) => message)
  )

const somebodyElse = Effect.suspend(() => listening(createServer()))

const isGone = (url: URL) => Effect.promise(() => fetch(new URL("/status", url)).then(() => false, () => true))

/** Runs the program of `npm run engine` as far as its line that says that it is ready. */
const program = Effect.fnUntraced(function*(extract: string, port: number) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [resolve(import.meta.dirname, "../..", "development", "engine.ts"), extract], {
        env: { ...process.env, DATA_DIR: dirname(ENGINE_DIRECTORY), ENGINE_PORT: String(port) },
        stdio: ["ignore", "pipe", "inherit"]
      })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const ended = once(child, "exit")
  const lines = createInterface({ input: child.stdout })
  const line = yield* Effect.promise(async () => {
    for await (const line of lines) if (line.includes("is ready")) return line
    return "none"
  })
  return { child, line, ended }
})

describe.skipIf(!hasEngine)("the real engine (skipped where it cannot be installed)", () => {
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
          length: 2.003,
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

    it.effect("no route uses the closed street", () =>
      Effect.gen(function*() {
        for (const costing of ["bicycle", "pedestrian", "auto"]) {
          assert.deepStrictEqual(yield* route(TOWN.closedWest, TOWN.closedEast, costing), {
            length: 1.558,
            hasFerry: false,
            streets: ["West Street", "Open Street"]
          })
        }
      }))

    it.effect("no path and no road near are different errors", () =>
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

    it.effect("its search names the locations without a road within the radius", () =>
      Effect.gen(function*() {
        const places = [TOWN.busyWest, TOWN.meadow, TOWN.river, TOWN.ocean]
        const found = (search_cutoff: number | undefined) =>
          askEngine("/locate", {
            locations: places.map(({ lat, lon }) => ({ lat, lon, search_cutoff })),
            costing: "pedestrian"
          }).pipe(
            Effect.flatMap(({ body }) => Schema.decodeUnknownEffect(LocateAnswer)(body)),
            Effect.map((answers) => answers.map(({ edges }) => edges.length > 0))
          )
        assert.deepStrictEqual(yield* found(undefined), [true, true, true, false])
        assert.deepStrictEqual(yield* found(1000), [true, true, false, false])
        assert.deepStrictEqual(yield* found(800), [true, false, false, false])
      }))

    it.effect("a second engine runs beside the first, and is gone with its scope", () =>
      Effect.gen(function*() {
        const first = yield* Engine
        const options = { directory: ENGINE_DIRECTORY, extract: yield* Effect.promise(townExtract), port: undefined }
        const { url } = yield* Effect.scoped(Effect.tap(routingEngine(options), (second) => {
          assert.notStrictEqual(second.url.port, first.url.port)
          return Effect.promise(() => fetch(new URL("/status", second.url)))
        }))
        assert.isTrue(yield* isGone(url))
      }))

    for (const [signal, exitCode] of [["SIGINT", 0], ["SIGKILL", null]] as const) {
      it.effect(`npm run engine says when it is ready, and ${signal} ends the engine with it`, () =>
        Effect.gen(function*() {
          const port = yield* Effect.promise(() => freePort())
          const { child, ended, line } = yield* program(yield* Effect.promise(townExtract), port)
          const url = new URL(`http://127.0.0.1:${port}`)
          assert.include(line, "INFO the routing engine is ready")
          assert.include(line, url.href)
          assert.isFalse(yield* isGone(url))

          child.kill(signal)
          assert.strictEqual((yield* Effect.promise(() => ended))[0], exitCode)
          yield* until(isGone(url))
        }).pipe(Effect.scoped))
    }

    it.effect("npm run engine ends with the engine, and says so", () =>
      Effect.gen(function*() {
        const port = yield* Effect.promise(() => freePort())
        const { child, ended } = yield* program(yield* Effect.promise(townExtract), port)
        const supervisor = yield* Effect.promise(() => outputOf("pgrep", ["-P", String(child.pid)]))
        process.kill(-Number(supervisor), "SIGKILL")
        assert.include(yield* Effect.promise(() => text(child.stdout)), "FATAL the engine ended")
        assert.strictEqual((yield* Effect.promise(() => ended))[0], 1)
      }).pipe(Effect.scoped))

    it.effect("it does not start without roads, nor on a port that is in use", () =>
      Effect.gen(function*() {
        assert.match(
          yield* refusal({ extract: "no such file", port: undefined }),
          /^the routing engine cannot be started: ENOENT.*no such file/
        )
        assert.match(
          yield* refusal({ extract: import.meta.filename, port: undefined }),
          /^the routing engine cannot be started: /
        )
        const port = yield* somebodyElse
        const extract = yield* Effect.promise(townExtract)
        assert.match(yield* refusal({ extract, port }), new RegExp(`address already in use 127.0.0.1:${port}`))
      }))

    for (const recorded of RECORDED) {
      const { name, path } = recorded
      it.effect(`it still answers what we ask as recorded: ${name} (RECORD=1 records it anew)`, () =>
        Effect.gen(function*() {
          const request = yield* requestOf(recorded)
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

describe.skipIf(!hasEngine || extract === undefined)(
  "real roads (skipped without the engine, ENGINE_EXTRACT or Liechtenstein's file)",
  () => {
    layer(engineLayer(extract ?? ""), PATIENCE)((it) => {
      it.effect("the engine reports its version", () =>
        Effect.gen(function*() {
          const { url } = yield* Engine
          assert.strictEqual(url.hostname, "127.0.0.1")
          const { version } = yield* decodeStatus((yield* askEngine("/status", {})).body)
          assert.strictEqual(version, "3.9.1")
        }))
    })
  }
)
