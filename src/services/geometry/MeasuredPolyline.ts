import { Schema } from "effect"
import {
  type BoundingBox,
  DEGREES,
  MAX_POSITIONS,
  MAX_SIMPLIFIED,
  type Position,
  Positions,
  Segments
} from "../../schema/Geometry.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { MAX_DISTANCE } from "../../schema/Measures.ts"
import { MAX_ELEVATION_GAIN } from "../../schema/Route.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { elevationGainOf } from "./Elevation.ts"
import {
  boundsOf,
  centimetres,
  type Coordinates,
  coordinatesOf,
  isOnEarth,
  metresAlong,
  NO_GAPS,
  radians,
  rangesOf
} from "./Geodesy.ts"
import { decodePolyline, encodePolyline, positionCount } from "./Polyline.ts"

const FIRST_TOLERANCE = 1 / 5000

/** Douglas-Peucker measures this many distances, at 4 ns: a random walk needs 120 a position; zigzags are quadratic. */
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

/** Loops, since recursion would be as deep as a zigzag is long. */
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

const countOf = (parts: ReadonlyArray<Points>): number => parts.reduce((count, { x }) => count + x.length, 0)

// Each round works on the result of the last: only the first sees a long polyline.
const thin = (
  parts: ReadonlyArray<Points>,
  tolerance: number,
  budget: Budget
): ReadonlyArray<Points> | undefined => {
  const count = countOf(parts)
  if (count <= MAX_SIMPLIFIED) return parts
  budget.distances -= count
  const kept: Array<Points> = []
  for (const part of parts) {
    const thinned = douglasPeucker(withoutNear(part, tolerance), tolerance, budget)
    if (thinned === undefined) return undefined
    kept.push(thinned)
  }
  return thin(kept, tolerance * 1.5, budget)
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
const mostDistant = (points: Points, most: number): Points => {
  if (points.x.length <= most) return points
  const segments = [farthestBetween(points, 0, points.x.length - 1)]
  while (segments.length < most - 1) {
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

const slice = ({ index, x, y }: Points, from: number, to: number): Points => ({
  x: x.subarray(from, to),
  y: y.subarray(from, to),
  index: index.subarray(from, to)
})

/** A part has two positions of the simplified line: the first, the last and the longest of more parts are in it. */
const MAX_PARTS = MAX_SIMPLIFIED / 2

const shownParts = (parts: ReadonlyArray<Points>, along: Float64Array): ReadonlyArray<Points> => {
  if (parts.length <= MAX_PARTS) return parts
  const metresOf = ({ index }: Points) => (along[index.at(-1) ?? 0] ?? 0) - (along[index[0] ?? 0] ?? 0)
  const longest = parts.slice(1, -1).toSorted((a, b) => metresOf(b) - metresOf(a)).slice(0, MAX_PARTS - 2)
  const shown = new Set([parts[0], ...longest, parts.at(-1)])
  return parts.filter((part) => shown.has(part))
}

interface SimplifiedLine {
  readonly indexes: Uint32Array
  readonly segments: Segments
}

/** Returns the indexes of at most `MAX_SIMPLIFIED` positions, first and last included, in linear time. */
export const simplifiedLine = (
  line: Coordinates,
  bounds = boundsOf(line),
  segments: Segments = NO_GAPS,
  along = metresAlong(line, segments)
): SimplifiedLine => {
  if (bounds === undefined) return { indexes: new Uint32Array(), segments: NO_GAPS }
  const points = pointsOf(line)
  const { length } = points.x
  const tolerance = Math.max(sizeOf(bounds) * FIRST_TOLERANCE, Number.EPSILON)
  const parts = shownParts(rangesOf(length, segments).map(({ from, to }) => slice(points, from, to)), along)
  const most = Math.floor(MAX_SIMPLIFIED / parts.length)
  const kept = thin(parts, tolerance, budgetFor(length))
    ?? parts.map((part) => mostDistant(part.x.length <= most ? part : candidatesOf(part), most))
  let start = 0
  return {
    indexes: Uint32Array.from(kept.flatMap(({ index }) => [...index])),
    segments: kept.map(({ index }) => {
      start += index.length
      return start - index.length
    })
  }
}

export interface MeasuredPolyline {
  readonly json: string
  /** The JSON says where parts begin; it is null without a gap, undefined if that was not said. */
  readonly segments: string | null | undefined
  readonly simplified: string
  readonly simplifiedSegments: string | null
  readonly polyline6: string
  readonly positionCount: number
  readonly box: string | null
  readonly metres: number | null
  readonly elevationGain: number | null
  readonly start: Position | undefined
}

/** This many degrees are less than a micrometre. */
const NO_DEGREES = 1e-12

const sideOf = (degrees: number) => Math.abs(degrees) < NO_DEGREES ? 0 : degrees

/** The index of boxes multiplies their sides, and refuses each box where the product is below the least double. */
const boxText = ({ east, north, south, west }: BoundingBox) =>
  `(${sideOf(east)},${sideOf(north)}),(${sideOf(west)},${sideOf(south)})`

export const boxAround = (positions: ReadonlyArray<Position>): string | null => {
  const bounds = boundsOf(coordinatesOf(positions))
  return bounds === undefined ? null : boxText(bounds)
}

export interface ParsedPolyline {
  readonly coordinates: Coordinates
  readonly json: string
  readonly elevations: Float64Array | undefined
  readonly start: Position | undefined
  readonly textAt: (index: number) => string
}

const segmentText = (segments: Segments): string | null => segments.length < 2 ? null : JSON.stringify(segments)

type Given = Segments | null | undefined

/** Blocks for 0.1 s for 100,000 positions. */
export const measurePolyline = (
  { coordinates, elevations, json, start, textAt }: ParsedPolyline,
  given?: Given
): MeasuredPolyline => {
  const segments = given ?? NO_GAPS
  const bounds = boundsOf(coordinates)
  const positionCount = coordinates.lngs.length
  const along = metresAlong(coordinates, segments)
  const simplified = simplifiedLine(coordinates, bounds, segments, along)
  const gain = elevations === undefined ? undefined : elevationGainOf(coordinates, elevations, segments, along)
  return {
    json,
    segments: given === undefined ? undefined : segmentText(segments),
    simplified: `[${Array.from(simplified.indexes, textAt).join(",")}]`,
    simplifiedSegments: segmentText(simplified.segments),
    polyline6: encodePolyline(coordinates),
    positionCount,
    box: bounds === undefined ? null : boxText(bounds),
    metres: positionCount < 2 ? null : Math.min(centimetres(along.at(-1) ?? 0), MAX_DISTANCE),
    elevationGain: gain === undefined ? null : Math.min(gain, MAX_ELEVATION_GAIN),
    start
  }
}

/** Reads `MeasuredPolyline.json`, as it is stored. Blocks for 0.1 s for 100,000 positions. */
export const positionsOf = Schema.decodeSync(Schema.fromJsonString(Positions))

export const readSegments = Schema.decodeSync(Schema.fromJsonString(Segments))

export const elevationsOf = (positions: ReadonlyArray<Position>): Float64Array => {
  const elevations = new Float64Array(positions.length)
  positions.forEach((position, index) => elevations[index] = position[2] ?? Number.NaN)
  return elevations
}

/** Blocks for 0.2 s for 100,000 positions. */
export const measurePositions = (positions: ReadonlyArray<Position>, segments?: Given): MeasuredPolyline =>
  measurePolyline({
    coordinates: coordinatesOf(positions),
    elevations: elevationsOf(positions),
    json: JSON.stringify(positions),
    start: positions[0],
    textAt: (index) => JSON.stringify(positions[index])
  }, segments)

/** The work for a position counts as this many bytes, since a polyline has as little as two. */
const POSITION_BYTES = 16

export const BROKEN_POLYLINE6: ValidationIssue = {
  path: "polyline6",
  message:
    `Expected an encoded polyline with six decimals of at most ${MAX_POSITIONS} positions, ${DEGREES.latitude} and `
    + `${DEGREES.longitude} degrees`
}

/** Blocks for 0.1 s for 100,000 positions. Returns undefined for an invalid or too long polyline. */
export const measurePolyline6 = (encoded: string, segments?: Given): MeasuredPolyline | undefined => {
  if (positionCount(encoded) > MAX_POSITIONS) return undefined
  const coordinates = decodePolyline(encoded)
  if (coordinates === undefined || !isOnEarth(coordinates)) return undefined
  const { lats, lngs } = coordinates
  const textAt = (index: number) => `[${lngs[index] ?? 0},${lats[index] ?? 0}]`
  const texts = Array.from(lngs, (_, index) => textAt(index))
  const start = lngs.length === 0 ? undefined : [lngs[0] ?? 0, lats[0] ?? 0] as const
  return measurePolyline({ coordinates, elevations: undefined, json: `[${texts.join(",")}]`, start, textAt }, segments)
}

export const polyline6Bytes = (encoded: string): number => POSITION_BYTES * positionCount(encoded)

/** A short body may have a polyline of many positions. */
export const readPolyline6 = new HeavyJob<string, MeasuredPolyline | undefined>(import.meta.url, {
  name: "read polyline6",
  share: "bodies",
  run: (encoded) => measurePolyline6(encoded)
})
