import type { Position } from "../../schema/Geometry.ts"

/**
 * Half the area of the triangle of three positions on a plane, and so how much a line changes without the one between.
 */
const deviation = (before: Position, position: Position, after: Position): number => {
  const scale = Math.cos(position[1] * Math.PI / 180)
  const [byLng, byLat] = [(position[0] - before[0]) * scale, position[1] - before[1]]
  const [toLng, toLat] = [(after[0] - before[0]) * scale, after[1] - before[1]]
  return Math.abs(byLng * toLat - byLat * toLng)
}

/** Without every other position at most, so that no two neighbours go at once: those that deviate least. */
const thinned = (positions: ReadonlyArray<Position>, max: number): ReadonlyArray<Position> => {
  const candidates = Array.from({ length: Math.floor((positions.length - 1) / 2) }, (_, at) => {
    const index = 2 * at + 1
    const [before, position, after] = [positions[index - 1], positions[index], positions[index + 1]]
    return before === undefined || position === undefined || after === undefined
      ? { index, area: Infinity }
      : { index, area: deviation(before, position, after) }
  })
  const surplus = positions.length - max
  const removed = new Set(candidates.toSorted((a, b) => a.area - b.area).slice(0, surplus).map(({ index }) => index))
  return positions.filter((_, index) => !removed.has(index))
}

/**
 * At most `max` positions, at least two, that still look like the line: rounds that leave out what deviates least from
 * the line between its neighbours (Visvalingam and Whyatt, 1993, every other position a round). First and last stay.
 */
export const reduced = (positions: ReadonlyArray<Position>, max: number): ReadonlyArray<Position> =>
  positions.length <= max ? positions : reduced(thinned(positions, max), max)
