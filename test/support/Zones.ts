import { Effect, Schema } from "effect"
import { decodePolyline } from "../../src/services/geometry/Polyline.ts"
import type { Rider } from "./Actors.ts"
import { TestServer } from "./TestServer.ts"

export type Place = readonly [lng: number, lat: number]

export const METRES_OF_A_DEGREE = 111_195

/** Returns the place that is this many metres east and north of another. */
export const beside = ([lng, lat]: Place, east: number, north: number): Place => [
  lng + east / METRES_OF_A_DEGREE / Math.cos(lat * Math.PI / 180),
  lat + north / METRES_OF_A_DEGREE
]

export const metresFrom = ([lng, lat]: Place, [toLng, toLat]: Place) =>
  Math.hypot(
    (toLng - lng) * Math.cos(lat * Math.PI / 180) * METRES_OF_A_DEGREE,
    (toLat - lat) * METRES_OF_A_DEGREE
  )

/** Returns a line that leaves a place in a direction (radians from east), with a position every `step` metres. */
export const ray = (from: Place, direction: number, metres: number, step = 20) =>
  Array.from(
    { length: Math.floor(metres / step) + 1 },
    (_, index) => beside(from, Math.cos(direction) * step * index, Math.sin(direction) * step * index)
  )

export const setZones = (rider: Rider, zones: ReadonlyArray<Record<string, unknown>>) =>
  rider.call("PUT", "/users/me/privacy-zones", { body: { zones } })

const Coord = Schema.TupleWithRest(Schema.Tuple([Schema.Finite, Schema.Finite]), [Schema.Finite])

const Seen = Schema.Struct({
  geometry: Schema.optionalKey(Schema.Array(Coord)),
  polyline6: Schema.optionalKey(Schema.String),
  waypoints: Schema.Array(Schema.Struct({ coord: Coord }))
})

const ofPolyline = (text: string): ReadonlyArray<Place> => {
  const line = decodePolyline(text)
  return line === undefined ? [] : Array.from(line.lngs, (lng, index) => [lng, line.lats[index] ?? 0] as const)
}

const lineIn = ({ geometry = [], polyline6 }: typeof Seen.Type): ReadonlyArray<Place> =>
  polyline6 === undefined ? geometry.map(([lng, lat]) => [lng, lat]) : ofPolyline(polyline6)

export const lineOf = (body: unknown) => lineIn(Schema.decodeUnknownSync(Seen)(body))

export const positionsOf = (body: unknown): ReadonlyArray<Place> => {
  const seen = Schema.decodeUnknownSync(Seen)(body)
  return [...lineIn(seen), ...seen.waypoints.map(({ coord: [lng, lat] }) => [lng, lat] as const)]
}

export const listedPositions = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.Unknown))(body).flatMap(positionsOf)

/** Downloads a file, and reads it as an import does. */
export const reimported = Effect.fnUntraced(function*(path: string, reader: Rider) {
  const { origin } = yield* TestServer
  const raw = yield* Effect.promise(async () =>
    new Uint8Array(await (await fetch(`${origin}/api/v1${path}`)).arrayBuffer())
  )
  return yield* reader.post("/routes/import?duplicates=allow&join=true", undefined, { raw })
})

export const filePositions = (path: string, reader: Rider) =>
  Effect.map(reimported(path, reader), ({ body }) => positionsOf(body))
