import { Effect, Layer, Schema } from "effect"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { RoutingRequest, TraceRequest } from "../../src/schema/Routing.ts"
import { HeavyWork } from "../../src/services/admission/HeavyWork.ts"
import { NoRoad } from "../../src/services/DomainErrors.ts"
import { RoutingEngine } from "../../src/services/routing/Engine.ts"
import { Routing, TraceMatching } from "../../src/services/routing/Routing.ts"
import { type Place, TOWN } from "./Town.ts"

const Recording = Schema.Struct({
  engineVersion: Schema.String,
  path: Schema.String,
  request: Schema.Unknown,
  status: Schema.Number,
  response: Schema.Unknown
})

export type Recording = typeof Recording.Type

const decodeRecording = Schema.decodeUnknownSync(Schema.fromJsonString(Recording))

const fileOf = (name: string) => join(import.meta.dirname, "recordings", `${name}.json`)

/** Reads a response of the real engine about the town, for tests that cannot have the engine. */
export const recording = async (name: string): Promise<Recording> =>
  decodeRecording(await readFile(fileOf(name), "utf8"))

export const keepRecording = (name: string, kept: Recording): Promise<void> =>
  writeFile(fileOf(name), `${JSON.stringify(kept, undefined, 2)}\n`)

/** The ten positions lead from West Street into the dirt track, a metre or two beside the middle. */
export const WALKED = ([
  [0.016, 10.00001],
  [0.0175, 10],
  [0.019, 9.99999],
  [0.0199, 10],
  [0.02001, 10.001],
  [0.02, 10.0025],
  [0.01999, 10.004],
  [0.02, 10.006],
  [0.02001, 10.008],
  [0.02, 10.0095]
] as const).map(([lat, lon]): Place => ({ lat, lon }))

/** The places are a street, a meadow with a street in reach, the middle of the river, and the ocean. */
export const SEARCHED = [TOWN.busyWest, TOWN.meadow, TOWN.river, TOWN.ocean]

const ride = (preferences: RoutingRequest["preferences"], ...locations: ReadonlyArray<Place>): RoutingRequest => ({
  activity: "cycle",
  preferences,
  locations
})

interface RecordedRoute {
  readonly name: string
  readonly path: "/route" | "/locate"
  readonly question: RoutingRequest
}

interface RecordedTrace {
  readonly name: string
  readonly path: "/trace_attributes"
  readonly question: TraceRequest
}

type Recorded = RecordedRoute | RecordedTrace

/** Each entry has the name of the recording, the request of a client, and the call of the engine that it leads to. */
export const RECORDED: ReadonlyArray<Recorded> = [
  {
    name: "bicycle-three-locations",
    path: "/route",
    question: ride({}, TOWN.busyWest, TOWN.dirtWest, TOWN.closedEast)
  },
  {
    name: "bicycle-motorway",
    path: "/route",
    question: ride({ avoidHighways: true }, TOWN.motorwayWest, TOWN.outpost)
  },
  {
    name: "pedestrian-ferry",
    path: "/route",
    question: {
      activity: "walk",
      preferences: { avoidFerries: true },
      locations: [TOWN.landingWest, TOWN.landingEast]
    }
  },
  { name: "no-path", path: "/route", question: ride({}, TOWN.busyWest, TOWN.island) },
  { name: "no-road", path: "/route", question: ride({}, TOWN.busyWest, TOWN.ocean) },
  { name: "no-road-within", path: "/route", question: ride({}, ...SEARCHED) },
  { name: "locate", path: "/locate", question: ride({}, ...SEARCHED) },
  { name: "trace-attributes", path: "/trace_attributes", question: { activity: "walk", shape: WALKED } }
]

const put = Effect.fnUntraced(function*(recorded: Recorded) {
  if (recorded.path === "/trace_attributes") yield* (yield* TraceMatching).match(recorded.question, undefined)
  else yield* (yield* Routing).route(recorded.question)
})

const decodeJson = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))

/** Returns the service's request to the engine's path: it is taken from the service, never written by hand. */
export const requestOf = Effect.fnUntraced(function*(recorded: Recorded) {
  const sent = new Map<string, string>()
  // Without a road nearby, the service searches for a location, and so makes all of its requests.
  const send = (path: string, json: string) =>
    Effect.suspend(() => {
      sent.set(`/${path}`, json)
      return Effect.fail(new NoRoad({}))
    })
  const engine = Layer.mock(RoutingEngine, {
    call: send,
    mapDate: Effect.succeedNone
  })
  const service = Layer.mergeAll(Routing.layer, TraceMatching.layer).pipe(Layer.provide([engine, HeavyWork.layer]))
  yield* put(recorded).pipe(Effect.exit, Effect.provide(service))
  return decodeJson(sent.get(recorded.path))
})
