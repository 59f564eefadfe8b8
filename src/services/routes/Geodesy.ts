import { distance } from "geokdbush"
import type { Position } from "../../schema/Geometry.ts"

/** Metres of the great circle between two positions on a sphere of 6,371 km (haversine). */
export const metresBetween = (fromLng: number, fromLat: number, toLng: number, toLat: number): number =>
  1000 * distance(fromLng, fromLat, toLng, toLat)

/** Length of a polyline in metres: great circles between neighbours. */
export const lengthOf = (positions: ReadonlyArray<Position>): number =>
  positions.reduce((metres, [lng, lat], index) => {
    const previous = positions[index - 1]
    return previous === undefined ? metres : metres + metresBetween(previous[0], previous[1], lng, lat)
  }, 0)
