import type { Position } from "../../schema/Geometry.ts"
import { POLYLINE_PRECISION } from "../../schema/Routing.ts"
import { encodePolyline } from "./PolylineEncoding.ts"
import { simplified } from "./Simplification.ts"

/** A box in degrees. Its east edge is past 180 where the line crosses the antimeridian; the west edge never is. */
export interface Bounds {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

const FULL_TURN = 360

/** The same longitude, as near as can be to the one before it: nobody walks around the world between two positions. */
const nearest = (lng: number, previous: number) => lng + FULL_TURN * Math.round((previous - lng) / FULL_TURN)

/** The box around a line; undefined without a position. */
export const boundsOf = (positions: ReadonlyArray<Position>): Bounds | undefined => {
  const [first] = positions
  if (first === undefined) return undefined
  let [west, south] = first
  let [east, north] = first
  let last = west
  for (const position of positions) {
    last = nearest(position[0], last)
    west = Math.min(west, last)
    east = Math.max(east, last)
    south = Math.min(south, position[1])
    north = Math.max(north, position[1])
  }
  const shift = FULL_TURN * Math.floor((west + FULL_TURN / 2) / FULL_TURN)
  return { west: west - shift, east: east - shift, south, north }
}

/** The longer side of a box in degrees. */
const sizeOf = ({ east, north, south, west }: Bounds) => Math.max(east - west, north - south)

/** At most 200 positions that still look like the line (Douglas-Peucker), the first and the last among them. */
export const simplifiedLine = (
  positions: ReadonlyArray<Position>,
  bounds = boundsOf(positions)
): ReadonlyArray<Position> => bounds === undefined ? positions : simplified(positions, sizeOf(bounds))

/** Google's polyline encoding with six decimals, as the routing engine has it. Elevations are not part of it. */
export const polyline6 = (positions: ReadonlyArray<Position>): string =>
  encodePolyline(positions, 10 ** POLYLINE_PRECISION)
