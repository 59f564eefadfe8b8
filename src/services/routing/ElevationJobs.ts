import { Option, Schema } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { MAX_ELEVATION } from "../geometry/Elevation.ts"
import { coordinatesOf } from "../geometry/Geodesy.ts"
import { type MeasuredPolyline, measurePositions, positionsOf, readSegments } from "../geometry/MeasuredPolyline.ts"
import { encodePolyline } from "../geometry/Polyline.ts"

const SHARE = "elevations"

/** The engine takes 750,000 (`service_limits.skadi.max_shape`); fewer keep a call short. */
const POSITIONS_A_CALL = 20_000

const isBare = (position: Position) => position.length === 2

/** Takes positions without an elevation, at most those of one call. */
export interface BarePositions {
  readonly polyline: string
  readonly count: number
}

export const readBare = new HeavyJob<string, ReadonlyArray<BarePositions>>(import.meta.url, {
  name: "read positions without elevation",
  share: SHARE,
  run: (json) => {
    const bare = positionsOf(json).filter(isBare)
    const calls = Math.ceil(bare.length / POSITIONS_A_CALL)
    return Array.from({ length: calls }, (_, call) => {
      const positions = bare.slice(call * POSITIONS_A_CALL, (call + 1) * POSITIONS_A_CALL)
      return { polyline: encodePolyline(coordinatesOf(positions)), count: positions.length }
    })
  }
})

const Heights = Schema.Struct({
  height: Schema.Array(Schema.NullOr(Schema.Finite)).check(Schema.isMaxLength(POSITIONS_A_CALL))
})

const decodeHeights = Schema.decodeUnknownOption(Schema.fromJsonString(Heights))

/** Returns NaN for a position without an elevation; undefined for an unusable response. */
export const readHeights = new HeavyJob<string, Float64Array | undefined>(import.meta.url, {
  name: "read elevations",
  share: SHARE,
  run: (text) =>
    Option.getOrUndefined(
      Option.map(decodeHeights(text), ({ height }) => Float64Array.from(height, (metres) => metres ?? Number.NaN))
    )
})

export interface FilledLine {
  readonly line: MeasuredPolyline
  readonly filled: number
  readonly missing: number
}

interface Bare {
  readonly json: string
  readonly segments: string | null | undefined
  /** The elevations of the positions without one, in their order. */
  readonly heights: Float64Array
}

export const fillHeights = new HeavyJob<Bare, FilledLine>(import.meta.url, {
  name: "fill elevations",
  share: SHARE,
  run: ({ heights, json, segments }) => {
    const seen = { bare: 0, filled: 0 }
    const positions = positionsOf(json).map((position): Position => {
      if (!isBare(position)) return position
      const height = heights[seen.bare++] ?? Number.NaN
      // The engine sends -32,768 where it has no elevation.
      if (!(Math.abs(height) <= MAX_ELEVATION)) return position
      seen.filled++
      return [position[0], position[1], height]
    })
    const given = typeof segments === "string" ? readSegments(segments) : segments
    return { line: measurePositions(positions, given), filled: seen.filled, missing: seen.bare - seen.filled }
  }
})
