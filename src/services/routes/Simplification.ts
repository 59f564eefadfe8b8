import type { Position } from "../../schema/Geometry.ts"

/** The most positions of a simplified line. */
const MAX_SIMPLIFIED = 200

/** Of the box around a line this part is too small to be seen on a map of it. */
const FIRST_TOLERANCE = 1 / 5000

/**
 * How many distances Douglas-Peucker may measure, at 4 ns each, before another method takes over. A random walk of 100,000
 * positions takes 120 for each of them, and a ride fewer; spirals and zigzags are quadratic.
 */
const MAX_DISTANCES = 10_000_000
const MIN_DISTANCES = 1_000_000
const DISTANCES_EACH = 400

const budgetFor = ({ length }: Uint32Array): Budget => ({
  distances: Math.min(Math.max(MIN_DISTANCES, DISTANCES_EACH * length), MAX_DISTANCES)
})

/** What the other method looks at, so that it takes a fifth of that at most. */
const MAX_CANDIDATES = 10_000

/** Positions on a plane where a degree is as long in both directions, which is what a tolerance means. */
interface Plane {
  readonly x: Float64Array
  readonly y: Float64Array
}

/** Counts down to where the exact result costs too much. */
interface Budget {
  distances: number
}

const planeOf = (positions: ReadonlyArray<Position>): Plane => {
  const scale = Math.cos(((positions[0]?.[1] ?? 0) * Math.PI) / 180)
  const x = new Float64Array(positions.length)
  const y = new Float64Array(positions.length)
  positions.forEach((position, index) => {
    x[index] = position[0] * scale
    y[index] = position[1]
  })
  return { x, y }
}

/** The position between two others that is farthest from the segment between them, and the square of how far. */
interface Farthest {
  readonly first: number
  readonly last: number
  readonly index: number
  readonly squared: number
}

/** Searches `points[from + 1]` to `points[to - 1]`, the indexes of positions; the first of several that are as far. */
const farthestBetween = ({ x, y }: Plane, points: Uint32Array, from: number, to: number): Farthest => {
  const first = points[from] ?? 0
  const last = points[to] ?? 0
  const startX = x[first] ?? 0
  const startY = y[first] ?? 0
  const endX = x[last] ?? 0
  const endY = y[last] ?? 0
  const alongX = endX - startX
  const alongY = endY - startY
  const length = alongX * alongX + alongY * alongY
  let index = from
  let squared = 0
  for (let at = from + 1; at < to; at++) {
    const point = points[at] ?? 0
    const pointX = x[point] ?? 0
    const pointY = y[point] ?? 0
    const share = length === 0 ? 0 : ((pointX - startX) * alongX + (pointY - startY) * alongY) / length
    let byX = pointX - startX
    let byY = pointY - startY
    if (share > 1) {
      byX = pointX - endX
      byY = pointY - endY
    } else if (share > 0) {
      byX = pointX - (startX + alongX * share)
      byY = pointY - (startY + alongY * share)
    }
    const distance = byX * byX + byY * byY
    if (distance <= squared) continue
    squared = distance
    index = at
  }
  return { first: from, last: to, index, squared }
}

/** The points that are farther than the tolerance from the one kept before them, and the last. */
const withoutNear = ({ x, y }: Plane, points: Uint32Array, tolerance: number): Uint32Array => {
  const kept = new Uint32Array(points.length)
  let previous = points[0] ?? 0
  let count = 1
  kept[0] = previous
  for (const point of points) {
    const byX = (x[point] ?? 0) - (x[previous] ?? 0)
    const byY = (y[point] ?? 0) - (y[previous] ?? 0)
    if (byX * byX + byY * byY <= tolerance * tolerance) continue
    previous = point
    kept[count++] = point
  }
  const last = points[points.length - 1] ?? 0
  if (previous !== last) kept[count++] = last
  return kept.subarray(0, count)
}

/** Douglas-Peucker without recursion, which a long zigzag would drive as deep as it is long. */
const douglasPeucker = (plane: Plane, points: Uint32Array, tolerance: number, budget: Budget) => {
  const isKept = new Uint8Array(points.length)
  isKept[0] = 1
  isKept[points.length - 1] = 1
  const pending: Array<readonly [from: number, to: number]> = [[0, points.length - 1]]
  for (let segment = pending.pop(); segment !== undefined; segment = pending.pop()) {
    const [from, to] = segment
    budget.distances -= to - from
    if (budget.distances < 0) return undefined
    const { index, squared } = farthestBetween(plane, points, from, to)
    if (squared <= tolerance * tolerance) continue
    isKept[index] = 1
    if (to - index > 1) pending.push([index, to])
    if (index - from > 1) pending.push([from, index])
  }
  return points.filter((_, at) => isKept[at] === 1)
}

// Each round works on what the last one left, so that only the first sees a long line.
const thin = (plane: Plane, points: Uint32Array, tolerance: number, budget: Budget): Uint32Array | undefined => {
  if (points.length <= MAX_SIMPLIFIED) return points
  budget.distances -= points.length
  const kept = douglasPeucker(plane, withoutNear(plane, points, tolerance), tolerance, budget)
  return kept && thin(plane, kept, tolerance * 1.5, budget)
}

/** Of each run of neighbours the first and what is farthest from it and the first of the next: outliers stay. */
const candidatesOf = (plane: Plane, points: Uint32Array): Uint32Array => {
  const last = points.length - 1
  const run = Math.ceil(2 * points.length / MAX_CANDIDATES)
  const kept = new Set<number>()
  for (let from = 0; from < last; from += run) {
    kept.add(from).add(farthestBetween(plane, points, from, Math.min(from + run, last)).index)
  }
  return Uint32Array.from(kept.add(last), (at) => points[at] ?? 0)
}

/** The first, the last, and 198 times the position that is farthest from what is kept so far: bounded for any line. */
const mostDistant = (plane: Plane, points: Uint32Array): Uint32Array => {
  const segments = [farthestBetween(plane, points, 0, points.length - 1)]
  while (segments.length < MAX_SIMPLIFIED - 1) {
    const widest = segments.reduce((widest, segment) => segment.squared > widest.squared ? segment : widest)
    if (widest.squared === 0) break
    segments.splice(
      segments.indexOf(widest),
      1,
      farthestBetween(plane, points, widest.first, widest.index),
      farthestBetween(plane, points, widest.index, widest.last)
    )
  }
  return Uint32Array.of(0, ...segments.map(({ last }) => points[last] ?? 0))
}

/**
 * At most 200 positions that still look like the line (Douglas-Peucker), the first and the last among them. `size` is the
 * longer side of the box around the line, in degrees. The time it takes is linear in the positions, whatever the line.
 */
export const simplified = (positions: ReadonlyArray<Position>, size: number): ReadonlyArray<Position> => {
  if (positions.length <= MAX_SIMPLIFIED) return positions
  const plane = planeOf(positions)
  const points = Uint32Array.from(positions, (_, index) => index)
  // A line that never leaves its first position has no size, but any tolerance is right for it.
  const tolerance = Math.max(size * FIRST_TOLERANCE, Number.EPSILON)
  const kept = thin(plane, points, tolerance, budgetFor(points)) ??
    mostDistant(plane, candidatesOf(plane, points))
  return Array.from(kept, (index) => positions[index]).filter((position) => position !== undefined)
}
