import { Schema } from "effect"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { TOWN } from "./Town.ts"

const Recording = Schema.Struct({
  engineVersion: Schema.String,
  path: Schema.String,
  request: Schema.Unknown,
  status: Schema.Number,
  response: Schema.Unknown
})

/** What the engine answered once. */
export type Recording = typeof Recording.Type

const decodeRecording = Schema.decodeUnknownSync(Schema.fromJsonString(Recording))

const fileOf = (name: string) => join(import.meta.dirname, "recordings", `${name}.json`)

/** An answer of the real engine about the town, for tests that cannot have the engine. */
export const recording = async (name: string): Promise<Recording> =>
  decodeRecording(await readFile(fileOf(name), "utf8"))

/** Keeps an answer of the engine. */
export const keepRecording = (name: string, kept: Recording): Promise<void> =>
  writeFile(fileOf(name), `${JSON.stringify(kept, undefined, 2)}\n`)

/** Ten positions from West Street into the dirt track, a metre or two beside the middle. */
const WALKED = [
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
].map(([lat, lon]) => ({ lat, lon }))

/** A street, a meadow with a street in reach, the middle of the river, and the ocean. */
const SEARCHED = [TOWN.busyWest, TOWN.meadow, TOWN.river, TOWN.ocean].map(({ lat, lon }) => ({
  lat,
  lon,
  search_cutoff: 1000
}))

/** What is recorded: the name of the recording and the request. */
export const RECORDED = [
  {
    name: "bicycle-three-locations",
    path: "/route",
    request: { locations: [TOWN.busyWest, TOWN.dirtWest, TOWN.closedEast], costing: "bicycle", units: "kilometers" }
  },
  {
    name: "pedestrian-ferry",
    path: "/route",
    request: { locations: [TOWN.busyEast, TOWN.eastEnd], costing: "pedestrian", units: "kilometers" }
  },
  {
    name: "no-path",
    path: "/route",
    request: { locations: [TOWN.busyWest, TOWN.island], costing: "bicycle", units: "kilometers" }
  },
  {
    name: "no-road",
    path: "/route",
    request: { locations: [TOWN.busyWest, TOWN.ocean], costing: "bicycle", units: "kilometers" }
  },
  {
    name: "no-road-within",
    path: "/route",
    request: { locations: SEARCHED, costing: "bicycle", units: "kilometers" }
  },
  {
    name: "locate",
    path: "/locate",
    request: { locations: SEARCHED, costing: "bicycle", units: "kilometers" }
  },
  {
    name: "trace-attributes",
    path: "/trace_attributes",
    request: { shape: WALKED, costing: "bicycle", shape_match: "map_snap", units: "kilometers" }
  }
] as const
