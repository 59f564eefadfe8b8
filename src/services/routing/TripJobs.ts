import polyline from "@mapbox/polyline"
import { Option, Schema } from "effect"
import { POLYLINE_PRECISION } from "../../schema/Geometry.ts"
import { isOnEarth } from "../../schema/Routing.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"

const SHARE = "routes of the engine"

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const Response = Schema.Struct({
  trip: Schema.Struct({
    legs: Schema.NonEmptyArray(Schema.Struct({
      shape: Schema.String,
      summary: Schema.Struct({ length: Schema.Finite, time: Schema.Finite })
    })),
    summary: Schema.Struct({
      has_ferry: Schema.optionalKey(Schema.Boolean),
      has_highway: Schema.optionalKey(Schema.Boolean)
    })
  })
})

const decodeResponse = Schema.decodeUnknownOption(Response)

/** The engine returns requested locations; the snapped ones are the ends of the legs. */
const snappedOf = (legs: typeof Response.Type["trip"]["legs"]) => {
  const lines = legs.map(({ shape }) => polyline.decode(shape, POLYLINE_PRECISION))
  return [lines[0]?.[0], ...lines.map((line) => line.at(-1))]
    .filter((point) => point !== undefined)
    .filter(isOnEarth)
    .map(([lat, lon], original_index) => ({ lat, lon, original_index }))
}

const tripOf = ({ trip: { legs, summary } }: typeof Response.Type) => ({ legs, summary, locations: snappedOf(legs) })

export type Trip = ReturnType<typeof tripOf>

export const readTrip: HeavyJob<string, Trip | undefined> = {
  name: "read trip",
  share: SHARE,
  run: (text) => Option.getOrUndefined(Option.map(Option.flatMap(parse(text), decodeResponse), tripOf))
}

export interface Ways {
  readonly hasUnpaved: boolean
  readonly hasHighway: boolean
}

const HIGHWAYS = new Set(["motorway", "trunk"])

const Walked = Schema.Struct({
  edges: Schema.Array(Schema.Struct({
    unpaved: Schema.optionalKey(Schema.Boolean),
    road_class: Schema.optionalKey(Schema.String)
  }))
})

const decodeWalked = Schema.decodeUnknownOption(Walked)

const waysOf = (body: unknown): Ways => {
  const { edges } = Option.getOrElse(decodeWalked(body), (): typeof Walked.Type => ({ edges: [] }))
  return {
    hasUnpaved: edges.some(({ unpaved }) => unpaved === true),
    hasHighway: edges.some(({ road_class = "" }) => HIGHWAYS.has(road_class))
  }
}

export const readWays: HeavyJob<string, Ways | undefined> = {
  name: "read ways",
  share: SHARE,
  run: (text) => Option.getOrUndefined(Option.map(parse(text), waysOf))
}

/** Older engines return null for none. */
const Located = Schema.Array(Schema.Struct({ edges: Schema.NullOr(Schema.Array(Schema.Unknown)) }))

const decodeLocated = Schema.decodeUnknownOption(Located)

const roadlessOf = (body: unknown): ReadonlyArray<number> =>
  Option.getOrElse(decodeLocated(body), (): typeof Located.Type => [])
    .flatMap(({ edges }, index) => edges === null || edges.length === 0 ? [index] : [])

export const readRoadless: HeavyJob<string, ReadonlyArray<number> | undefined> = {
  name: "read locations",
  share: SHARE,
  run: (text) => Option.getOrUndefined(Option.map(parse(text), roadlessOf))
}
