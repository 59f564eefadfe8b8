import { distance } from "geokdbush"
import type { Position } from "../../schema/Geometry.ts"

/** Length of a polyline in metres: great circles between neighbours on a sphere of 6,371 km (haversine). */
export const lengthOf = (positions: ReadonlyArray<Position>): number =>
  positions.reduce((metres, [lng, lat], index) => {
    const previous = positions[index - 1]
    return previous === undefined ? metres : metres + 1000 * distance(previous[0], previous[1], lng, lat)
  }, 0)
