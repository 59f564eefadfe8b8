import { Option, Schema } from "effect"
import { isLatitude, isLongitude } from "../../schema/Geometry.ts"
import { Maneuver, MAX_INSTRUCTION, MAX_MANEUVERS } from "../../schema/Maneuver.ts"
import { MAX_DISTANCE, upTo } from "../../schema/Measures.ts"
import type { SurfaceShares } from "../../schema/Routing.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import type { Coordinates } from "../geometry/Geodesy.ts"
import { decodePolyline } from "../geometry/Polyline.ts"

const SHARE = "routes of the engine"

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const Response = Schema.Struct({
  trip: Schema.Struct({
    legs: Schema.NonEmptyArray(Schema.Struct({
      shape: Schema.String,
      summary: Schema.Struct({ length: Schema.Finite, time: Schema.Finite }),
      maneuvers: Schema.optionalKey(
        Schema.Array(Schema.Struct({ ...Maneuver.fields, instruction: Schema.String })).check(
          Schema.isMaxLength(MAX_MANEUVERS)
        )
      )
    })),
    summary: Schema.Struct({
      has_ferry: Schema.optionalKey(Schema.Boolean),
      has_highway: Schema.optionalKey(Schema.Boolean)
    })
  })
})

type Legs = typeof Response.Type["trip"]["legs"]

type Lines = ReadonlyArray<Coordinates>

const decodeResponse = Schema.decodeUnknownOption(Response)

const pointOf = (line: Coordinates | undefined, index: number) => ({
  lat: line?.lats.at(index) ?? Number.NaN,
  lon: line?.lngs.at(index) ?? Number.NaN
})

/** The engine returns requested locations; the snapped ones are the ends of the legs. */
const snappedOf = (lines: Lines) =>
  [pointOf(lines[0], 0), ...lines.map((line) => pointOf(line, -1))]
    .filter(({ lat, lon }) => isLatitude(lat) && isLongitude(lon))
    .map(({ lat, lon }, original_index) => ({ lat, lon, original_index }))

/** Joins the maneuvers of all legs. The engine's indexes are into each leg, these into the joined polyline. */
const maneuversOf = (legs: Legs, lines: Lines): ReadonlyArray<Maneuver> => {
  const joined = { offset: 0 }
  return legs.flatMap(({ maneuvers = [] }, leg) => {
    const { offset } = joined
    joined.offset += Math.max(0, (lines[leg]?.lats.length ?? 0) - 1)
    return maneuvers.map(({ begin_shape_index, instruction, ...maneuver }) => ({
      ...maneuver,
      instruction: [...instruction.toWellFormed()].slice(0, MAX_INSTRUCTION).join(""),
      begin_shape_index: offset + begin_shape_index
    }))
  })
}

const hasIndexesOf = (legs: Legs, lines: Lines) =>
  legs.every(({ maneuvers = [] }, leg) =>
    maneuvers.every(({ begin_shape_index }) => begin_shape_index < (lines[leg]?.lats.length ?? 0))
  )

const tripOf = ({ trip: { legs, summary } }: typeof Response.Type) => {
  const lines = legs.map(({ shape }) => decodePolyline(shape)).filter((line) => line !== undefined)
  const maneuvers = maneuversOf(legs, lines)
  if (lines.length < legs.length || maneuvers.length > MAX_MANEUVERS || !hasIndexesOf(legs, lines)) return Option.none()
  return Option.some({
    legs: legs.map(({ shape, summary }) => ({ shape, summary })),
    summary,
    locations: snappedOf(lines),
    maneuvers
  })
}

export type Trip = Option.Option.Value<ReturnType<typeof tripOf>>

export const readTrip = new HeavyJob<string, Trip | undefined>(import.meta.url, {
  name: "read trip",
  share: SHARE,
  run: (text) => Option.getOrUndefined(Option.flatMap(Option.flatMap(parse(text), decodeResponse), tripOf))
})

const round = (value: number, decimals: number) => Number(value.toFixed(decimals))

const UNKNOWN_SURFACE = "unknown"

/** Sums up the surfaces of parts of a line. The longest comes first. */
export const surfaceShares = (
  parts: ReadonlyArray<{ readonly surface?: string | undefined; readonly length: number }>
): SurfaceShares => {
  const lengths = new Map<string, number>()
  for (const { length, surface = UNKNOWN_SURFACE } of parts) lengths.set(surface, (lengths.get(surface) ?? 0) + length)
  const total = parts.reduce((sum, { length }) => sum + length, 0)
  return [...lengths]
    .map(([surface, length]) => ({
      surface,
      length: round(length, 3),
      share: total === 0 ? 0 : round(length / total, 4)
    }))
    .toSorted((a, b) => b.length - a.length)
}

export interface Ways {
  readonly hasUnpaved: boolean
  readonly hasHighway: boolean
  readonly surfaces: SurfaceShares
}

const HIGHWAYS = new Set(["motorway", "trunk"])

const Walked = Schema.Struct({
  edges: Schema.Array(Schema.Struct({
    surface: Schema.optionalKey(Schema.String),
    length: Schema.optionalKey(Schema.Finite.check(upTo(MAX_DISTANCE / 1000))),
    unpaved: Schema.optionalKey(Schema.Boolean),
    road_class: Schema.optionalKey(Schema.String)
  }))
})

const decodeWalked = Schema.decodeUnknownOption(Walked)

const waysOf = (body: unknown): Ways => {
  const { edges } = Option.getOrElse(decodeWalked(body), (): typeof Walked.Type => ({ edges: [] }))
  return {
    hasUnpaved: edges.some(({ unpaved }) => unpaved === true),
    hasHighway: edges.some(({ road_class = "" }) => HIGHWAYS.has(road_class)),
    surfaces: surfaceShares(edges.flatMap(({ length, surface }) => length === undefined ? [] : [{ length, surface }]))
  }
}

export const readWays = new HeavyJob<string, Ways | undefined>(import.meta.url, {
  name: "read ways",
  share: SHARE,
  run: (text) => Option.getOrUndefined(Option.map(parse(text), waysOf))
})

/** Older engines return null for none. */
const Located = Schema.Array(Schema.Struct({ edges: Schema.NullOr(Schema.Array(Schema.Unknown)) }))

const decodeLocated = Schema.decodeUnknownOption(Located)

const roadlessOf = (body: unknown): ReadonlyArray<number> =>
  Option.getOrElse(decodeLocated(body), (): typeof Located.Type => [])
    .flatMap(({ edges }, index) => edges === null || edges.length === 0 ? [index] : [])

export const readRoadless = new HeavyJob<string, ReadonlyArray<number> | undefined>(import.meta.url, {
  name: "read locations",
  share: SHARE,
  run: (text) => Option.getOrUndefined(Option.map(parse(text), roadlessOf))
})
