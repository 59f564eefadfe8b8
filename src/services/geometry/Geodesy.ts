import { distance } from "geokdbush"
import type { Coordinates } from "./Coordinates.ts"

/** In metres, of the sphere that `geokdbush` measures on. */
export const EARTH_RADIUS = 6_371_000

/** Degrees. */
export const FULL_TURN = 360

export const radians = (degrees: number): number => degrees * Math.PI / 180

export const degrees = (radians: number): number => radians * 180 / Math.PI

/** Great circle (haversine). */
export const metresBetween = (fromLng: number, fromLat: number, toLng: number, toLat: number): number =>
  1000 * distance(fromLng, fromLat, toLng, toLat)

export const lengthOf = ({ lats, lngs }: Coordinates): number => {
  let metres = 0
  for (let index = 1; index < lngs.length; index++) {
    metres += metresBetween(lngs[index - 1] ?? 0, lats[index - 1] ?? 0, lngs[index] ?? 0, lats[index] ?? 0)
  }
  return metres
}
