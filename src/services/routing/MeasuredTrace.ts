import type { ValidationIssue } from "../../schema/Issues.ts"
import { MAX_TRACE, MIN_TRACE, type TracePoint, type TraceRequest } from "../../schema/Routing.ts"
import { isOnEarth, metresAlong } from "../geometry/Geodesy.ts"
import { decodePolyline, positionCount } from "../geometry/Polyline.ts"

/** The engine allows 16,000 points and 200 km; the rest is a margin for its own measure. */
const MAX_PIECE_POINTS = 16_000
const MAX_PIECE_METRES = 190_000

export interface MeasuredTrace {
  readonly member: "shape" | "encodedPolyline"
  readonly metres: number
  /** JSON arrays within the engine's limits; each begins with the last point of the previous one. */
  readonly pieces: ReadonlyArray<string>
}

type Points = ReadonlyArray<TracePoint>

const decoded = (encoded: string): Points | undefined => {
  if (positionCount(encoded) > MAX_TRACE) return undefined
  const line = decodePolyline(encoded)
  if (line === undefined || line.lats.length < MIN_TRACE || !isOnEarth(line)) return undefined
  return Array.from(line.lats, (lat, index) => ({ lat, lon: line.lngs[index] ?? 0 }))
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
  const along = metresAlong({
    lats: Float64Array.from(points, ({ lat }) => lat),
    lngs: Float64Array.from(points, ({ lon }) => lon)
  })
  const pieces = piecesOf(points, along).map((piece) => JSON.stringify(piece))
  return { member, metres: along.at(-1) ?? 0, pieces }
}

export const BROKEN_POLYLINE: ValidationIssue = {
  path: "encodedPolyline",
  message: `Expected a polyline with six decimals of 2 to ${MAX_TRACE} points`
}

export const measureTrace = ({ encodedPolyline = "", shape }: TraceRequest): MeasuredTrace | undefined => {
  const points = shape ?? decoded(encodedPolyline)
  return points && measured(points, shape === undefined ? "encodedPolyline" : "shape")
}
