import { type BoundingBox, POLYLINE_PRECISION } from "../../schema/Geometry.ts"
import type { Coordinates } from "./Coordinates.ts"
import { encodePolyline } from "./PolylineEncoding.ts"
import { simplified } from "./Simplification.ts"

const FULL_TURN = 360

/** The same longitude, as near as can be to the one before it: nobody walks around the world between two positions. */
const nearest = (lng: number, previous: number) => lng + FULL_TURN * Math.round((previous - lng) / FULL_TURN)

/**
 * The box around a line; undefined without a position. Its east edge is past 180 where the line crosses the
 * antimeridian; the west edge never is.
 */
export const boundsOf = ({ lats, lngs }: Coordinates): BoundingBox | undefined => {
  let [west] = lngs
  let [south] = lats
  if (west === undefined || south === undefined) return undefined
  let [east, north] = [west, south]
  let last = west
  for (let index = 0; index < lngs.length; index++) {
    const lat = lats[index] ?? 0
    last = nearest(lngs[index] ?? 0, last)
    west = Math.min(west, last)
    east = Math.max(east, last)
    south = Math.min(south, lat)
    north = Math.max(north, lat)
  }
  const shift = FULL_TURN * Math.floor((west + FULL_TURN / 2) / FULL_TURN)
  return { west: west - shift, east: east - shift, south, north }
}

/** The longer side of a box in degrees. */
const sizeOf = ({ east, north, south, west }: BoundingBox) => Math.max(east - west, north - south)

/**
 * Which positions stay in a simplified line: at most 200, the first and the last among them, that still look like the line
 * (Douglas-Peucker).
 */
export const simplifiedLine = (line: Coordinates, bounds = boundsOf(line)): Uint32Array =>
  bounds === undefined ? new Uint32Array() : simplified(line, sizeOf(bounds))

/** Google's polyline encoding with six decimals, as the routing engine has it. Elevations are not part of it. */
export const polyline6 = (line: Coordinates): string => encodePolyline(line, 10 ** POLYLINE_PRECISION)
