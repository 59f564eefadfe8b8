import polyline from "@mapbox/polyline"
import type { ValidationIssue } from "../../schema/Errors.ts"
import { POLYLINE_PRECISION } from "../../schema/Geometry.ts"
import { isOnEarth, type TraceRequest } from "../../schema/Routing.ts"
import { MAX_TRACE, type TracePoint } from "../../schema/TracePoints.ts"
import { metresBetween } from "../geometry/Geodesy.ts"

/** The engine's own limits are 16,000 points and 200 km; a little is left for how it measures. */
const MAX_PIECE_POINTS = 16_000
const MAX_PIECE_METRES = 190_000

/** A trace as the engine is asked for it. */
export interface MeasuredTrace {
  /** The member of the request that it was in. */
  readonly member: "shape" | "encodedPolyline"
  readonly metres: number
  /** The points as JSON arrays within the engine's limits; each begins with the last point of the one before it. */
  readonly pieces: ReadonlyArray<string>
}

/** The points of a polyline, counted before they are decoded: two numbers each, of which a letter below "_" is the last. */
export const pointCount = (encoded: string): number => {
  let numbers = 0
  for (let index = 0; index < encoded.length; index++) {
    if (encoded.charCodeAt(index) < 0x5f) numbers++
  }
  return numbers / 2
}

type Points = ReadonlyArray<TracePoint>

const decoded = (encoded: string): Points | undefined => {
  if (pointCount(encoded) > MAX_TRACE) return undefined
  const line = polyline.decode(encoded, POLYLINE_PRECISION)
  return line.length >= 2 && line.length <= MAX_TRACE && line.every(isOnEarth)
    ? line.map(([lat, lon]) => ({ lat, lon }))
    : undefined
}

/** How far along the trace each point is, in metres. */
const distancesAlong = (points: Points): Float64Array => {
  const along = new Float64Array(points.length)
  for (const [index, { lat, lon }] of points.entries()) {
    const previous = points[index - 1]
    if (previous === undefined) continue
    along[index] = (along[index - 1] ?? 0) + metresBetween(previous.lon, previous.lat, lon, lat)
  }
  return along
}

const piecesOf = (points: Points, along: Float64Array): ReadonlyArray<Points> => {
  const starts = [0]
  along.forEach((metres, index) => {
    const start = starts.at(-1) ?? 0
    const isOver = index - start >= MAX_PIECE_POINTS || metres - (along[start] ?? 0) > MAX_PIECE_METRES
    if (isOver && index > start + 1) starts.push(index - 1)
  })
  return starts.map((start, n) => points.slice(start, (starts[n + 1] ?? points.length) + 1))
}

const measured = (points: Points, member: MeasuredTrace["member"]): MeasuredTrace => {
  const along = distancesAlong(points)
  const pieces = piecesOf(points, along).map((piece) => JSON.stringify(piece))
  return { member, metres: along.at(-1) ?? 0, pieces }
}

/** Why a polyline is refused that cannot be measured. */
export const BROKEN_POLYLINE: ValidationIssue = {
  path: "encodedPolyline",
  message: `Expected a polyline with six decimals of 2 to ${MAX_TRACE} points`
}

/** Measures the trace of a request and cuts it to pieces; none where its polyline is broken. */
export const measureTrace = ({ encodedPolyline = "", shape }: TraceRequest): MeasuredTrace | undefined => {
  const points = shape ?? decoded(encodedPolyline)
  return points && measured(points, shape === undefined ? "encodedPolyline" : "shape")
}
