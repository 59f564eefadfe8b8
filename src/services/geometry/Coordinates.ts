import type { Position } from "../../schema/Geometry.ts"

/** A line in degrees without its elevations: what measures a long line walks over numbers, not over an object a position. */
export interface Coordinates {
  readonly lngs: Float64Array
  /** As many as there are longitudes. */
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
