import type { Position } from "../../schema/Geometry.ts"
import { radians } from "../geometry/Geodesy.ts"

/** Twice the area of the triangle: how much the polyline changes without the middle position. */
const deviation = (before: Position, position: Position, after: Position): number => {
  const scale = Math.cos(radians(position[1]))
  const [byLng, byLat] = [(position[0] - before[0]) * scale, position[1] - before[1]]
  const [toLng, toLat] = [(after[0] - before[0]) * scale, after[1] - before[1]]
  return Math.abs(byLng * toLat - byLat * toLng)
}

const deviations = (positions: ReadonlyArray<Position>): Float64Array => {
  const areas = new Float64Array(Math.floor((positions.length - 1) / 2))
  for (let at = 0; at < areas.length; at++) {
    const [before, position, after] = [positions[2 * at], positions[2 * at + 1], positions[2 * at + 2]]
    if (before === undefined || position === undefined || after === undefined) continue
    areas[at] = deviation(before, position, after)
  }
  return areas
}

/** Removes every other position at most, the least deviating: no two neighbours go at once. */
const thinned = (positions: ReadonlyArray<Position>, max: number): ReadonlyArray<Position> => {
  const areas = deviations(positions)
  const surplus = Math.min(positions.length - max, areas.length)
  const limit = areas.toSorted()[surplus - 1] ?? 0
  let equals = surplus - areas.reduce((count, area) => area < limit ? count + 1 : count, 0)
  return positions.filter((_, index) => {
    const area = index % 2 === 0 ? Infinity : areas[(index - 1) / 2] ?? Infinity
    if (area === limit) return equals-- <= 0
    return area > limit
  })
}

/** At most `max` positions, first and last included (Visvalingam and Whyatt, 1993, every other position a round). */
export const reduced = (positions: ReadonlyArray<Position>, max: number): ReadonlyArray<Position> =>
  positions.length <= max ? positions : reduced(thinned(positions, max), max)
