import { type BoundingBox, MAX_SIMPLIFIED } from "../../schema/Geometry.ts"
import { boundsOf, type Coordinates, radians } from "./Geodesy.ts"

const FIRST_TOLERANCE = 1 / 5000

/**
 * Distances that Douglas-Peucker may measure, at 4 ns each: a random walk of 100,000 positions takes 120 for each, a
 * ride fewer; spirals and zigzags are quadratic.
 */
const MAX_DISTANCES = 10_000_000
const MIN_DISTANCES = 1_000_000
const DISTANCES_EACH = 400

const budgetFor = (length: number): Budget => ({
  distances: Math.min(Math.max(MIN_DISTANCES, DISTANCES_EACH * length), MAX_DISTANCES)
})

const MAX_CANDIDATES = 10_000

interface Points {
  readonly x: Float64Array
  readonly y: Float64Array
  readonly index: Uint32Array
}

interface Budget {
  distances: number
}

const pointsOf = ({ lats, lngs }: Coordinates): Points => {
  const scale = Math.cos(radians(lats[0] ?? 0))
  const points = { x: new Float64Array(lngs.length), y: lats, index: new Uint32Array(lngs.length) }
  for (let at = 0; at < lngs.length; at++) {
    points.x[at] = (lngs[at] ?? 0) * scale
    points.index[at] = at
  }
  return points
}

const pointsAt = ({ index, x, y }: Points, places: Uint32Array, count: number): Points => {
  const kept = { x: new Float64Array(count), y: new Float64Array(count), index: new Uint32Array(count) }
  for (let at = 0; at < count; at++) {
    const place = places[at] ?? 0
    kept.x[at] = x[place] ?? 0
    kept.y[at] = y[place] ?? 0
    kept.index[at] = index[place] ?? 0
  }
  return kept
}

interface Farthest {
  readonly first: number
  readonly last: number
  readonly index: number
  readonly squared: number
}

const farthestBetween = ({ x, y }: Points, from: number, to: number): Farthest => {
  const startX = x[from] ?? 0
  const startY = y[from] ?? 0
  const endX = x[to] ?? 0
  const endY = y[to] ?? 0
  const alongX = endX - startX
  const alongY = endY - startY
  const length = alongX * alongX + alongY * alongY
  let index = from
  let squared = 0
  for (let at = from + 1; at < to; at++) {
    const pointX = x[at] ?? 0
    const pointY = y[at] ?? 0
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

const withoutNear = (points: Points, tolerance: number): Points => {
  const { x, y } = points
  const kept = new Uint32Array(x.length)
  let previous = 0
  let count = 1
  for (let at = 1; at < x.length; at++) {
    const byX = (x[at] ?? 0) - (x[previous] ?? 0)
    const byY = (y[at] ?? 0) - (y[previous] ?? 0)
    if (byX * byX + byY * byY <= tolerance * tolerance) continue
    previous = at
    kept[count++] = at
  }
  const last = x.length - 1
  if (previous !== last) kept[count++] = last
  return pointsAt(points, kept, count)
}

/** A loop, since recursion would be as deep as a zigzag is long. */
const douglasPeucker = (points: Points, tolerance: number, budget: Budget): Points | undefined => {
  const { length } = points.x
  const isKept = new Uint8Array(length)
  isKept[0] = 1
  isKept[length - 1] = 1
  const pending: Array<readonly [from: number, to: number]> = [[0, length - 1]]
  for (let segment = pending.pop(); segment !== undefined; segment = pending.pop()) {
    const [from, to] = segment
    budget.distances -= to - from
    if (budget.distances < 0) return undefined
    const { index, squared } = farthestBetween(points, from, to)
    if (squared <= tolerance * tolerance) continue
    isKept[index] = 1
    if (to - index > 1) pending.push([index, to])
    if (index - from > 1) pending.push([from, index])
  }
  const kept = new Uint32Array(length)
  let count = 0
  for (let at = 0; at < length; at++) {
    if (isKept[at] === 1) kept[count++] = at
  }
  return pointsAt(points, kept, count)
}

// Each round works on the result of the last: only the first sees a long polyline.
const thin = (points: Points, tolerance: number, budget: Budget): Points | undefined => {
  const { length } = points.x
  if (length <= MAX_SIMPLIFIED) return points
  budget.distances -= length
  const kept = douglasPeucker(withoutNear(points, tolerance), tolerance, budget)
  return kept && thin(kept, tolerance * 1.5, budget)
}

const candidatesOf = (points: Points): Points => {
  const last = points.x.length - 1
  const run = Math.ceil(2 * points.x.length / MAX_CANDIDATES)
  const kept = new Set<number>()
  for (let from = 0; from < last; from += run) {
    kept.add(from).add(farthestBetween(points, from, Math.min(from + run, last)).index)
  }
  const places = Uint32Array.from(kept.add(last))
  return pointsAt(points, places, places.length)
}

/** Adds the position that is farthest from those kept so far, again and again: bounded for any polyline. */
const mostDistant = (points: Points): Points => {
  const segments = [farthestBetween(points, 0, points.x.length - 1)]
  while (segments.length < MAX_SIMPLIFIED - 1) {
    const widest = segments.reduce((widest, segment) => segment.squared > widest.squared ? segment : widest)
    if (widest.squared === 0) break
    segments.splice(
      segments.indexOf(widest),
      1,
      farthestBetween(points, widest.first, widest.index),
      farthestBetween(points, widest.index, widest.last)
    )
  }
  const places = Uint32Array.of(0, ...segments.map(({ last }) => last))
  return pointsAt(points, places, places.length)
}

const sizeOf = ({ east, north, south, west }: BoundingBox) => Math.max(east - west, north - south)

/** Returns the indexes of at most `MAX_SIMPLIFIED` positions, first and last included, in linear time. */
export const simplifiedLine = (line: Coordinates, bounds = boundsOf(line)): Uint32Array => {
  if (bounds === undefined) return new Uint32Array()
  const points = pointsOf(line)
  const tolerance = Math.max(sizeOf(bounds) * FIRST_TOLERANCE, Number.EPSILON)
  const kept = thin(points, tolerance, budgetFor(points.x.length)) ?? mostDistant(candidatesOf(points))
  return kept.index
}
