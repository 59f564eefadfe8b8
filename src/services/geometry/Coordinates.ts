import { isLatitude, isLongitude, type Position } from "../../schema/Geometry.ts"

/** Degrees without elevations, as numbers: an object for each position would be slow to measure. */
export interface Coordinates {
  readonly lngs: Float64Array
  readonly lats: Float64Array
}

export const coordinatesOf = (positions: ReadonlyArray<Position>): Coordinates => {
  const lngs = new Float64Array(positions.length)
  const lats = new Float64Array(positions.length)
  positions.forEach((position, index) => {
    lngs[index] = position[0]
    lats[index] = position[1]
  })
  return { lngs, lats }
}

export const isOnEarth = ({ lats, lngs }: Coordinates): boolean => lats.every(isLatitude) && lngs.every(isLongitude)
