import type { BoundingBox } from "../../schema/Geometry.ts"
import type { Coordinates } from "./Coordinates.ts"
import { FULL_TURN } from "./Geodesy.ts"
import { simplified } from "./Simplification.ts"

/** The turn of a longitude that is nearest to the previous one. */
export const nearest = (lng: number, previous: number) => lng + FULL_TURN * Math.round((previous - lng) / FULL_TURN)

/** East is over 180 across the antimeridian, west never. Undefined without a position. */
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

const sizeOf = ({ east, north, south, west }: BoundingBox) => Math.max(east - west, north - south)

/** At most `MAX_SIMPLIFIED` positions, the first and the last included (Douglas-Peucker). */
export const simplifiedLine = (line: Coordinates, bounds = boundsOf(line)): Uint32Array =>
  bounds === undefined ? new Uint32Array() : simplified(line, sizeOf(bounds))
