import { distance } from "geokdbush"
import type { Coordinates } from "./Coordinates.ts"

/** Great circle on a sphere of 6,371 km (haversine). */
export const metresBetween = (fromLng: number, fromLat: number, toLng: number, toLat: number): number =>
  1000 * distance(fromLng, fromLat, toLng, toLat)

export const lengthOf = ({ lats, lngs }: Coordinates): number => {
  let metres = 0
  for (let index = 1; index < lngs.length; index++) {
    metres += metresBetween(lngs[index - 1] ?? 0, lats[index - 1] ?? 0, lngs[index] ?? 0, lats[index] ?? 0)
  }
  return metres
}
