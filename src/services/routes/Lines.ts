import polyline from "@mapbox/polyline"
import simplify from "simplify-js"
import type { Position } from "../../schema/Geometry.ts"
import { POLYLINE_PRECISION } from "../../schema/Routing.ts"

/** The most positions of a simplified line. */
export const MAX_SIMPLIFIED = 200

/** Of the box around a line this part is too small to be seen on a map of it. */
const FIRST_TOLERANCE = 1 / 5000

/** A box in degrees. Its east edge is past 180 where the line crosses the antimeridian; the west edge never is. */
export interface Bounds {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

interface Extremes extends Bounds {
  readonly last: number
}

const FULL_TURN = 360

/** The same longitude, as near as can be to the one before it: nobody walks around the world between two positions. */
const nearest = (lng: number, previous: number) => lng + FULL_TURN * Math.round((previous - lng) / FULL_TURN)

/** The box around a line; undefined without a position. */
export const boundsOf = (positions: ReadonlyArray<Position>): Bounds | undefined => {
  const [first] = positions
  if (first === undefined) return undefined
  const start: Extremes = { west: first[0], east: first[0], south: first[1], north: first[1], last: first[0] }
  const { east, north, south, west } = positions.reduce<Extremes>((box, [lng, lat]) => {
    const x = nearest(lng, box.last)
    return {
      west: Math.min(box.west, x),
      east: Math.max(box.east, x),
      south: Math.min(box.south, lat),
      north: Math.max(box.north, lat),
      last: x
    }
  }, start)
  const shift = FULL_TURN * Math.floor((west + FULL_TURN / 2) / FULL_TURN)
  return { west: west - shift, east: east - shift, south, north }
}

interface Point {
  readonly x: number
  readonly y: number
  readonly position: Position
}

/** On a plane where a degree is as long in both directions, which is what a tolerance means. */
const toPoints = (positions: ReadonlyArray<Position>): Array<Point> => {
  const latitude = positions[0]?.[1] ?? 0
  const scale = Math.cos((latitude * Math.PI) / 180)
  return positions.map((position) => ({ x: position[0] * scale, y: position[1], position }))
}

const simplifyPoints = (points: Array<Point>, tolerance: number): Array<Point> => {
  const kept = new Set<object>(simplify(points, tolerance))
  return points.filter((point) => kept.has(point))
}

// Each round works on what the last one left, so that only the first sees a long line.
const thin = (points: Array<Point>, tolerance: number): Array<Point> =>
  points.length <= MAX_SIMPLIFIED ? points : thin(simplifyPoints(points, tolerance), tolerance * 1.5)

/** At most 200 positions that still look like the line (Douglas-Peucker), the first and the last among them. */
export const simplified = (positions: ReadonlyArray<Position>): ReadonlyArray<Position> => {
  if (positions.length <= MAX_SIMPLIFIED) return positions
  const bounds = boundsOf(positions)
  const size = bounds === undefined ? 0 : Math.max(bounds.east - bounds.west, bounds.north - bounds.south)
  // A line that never leaves its first position has no size, but any tolerance is right for it.
  return thin(toPoints(positions), Math.max(size * FIRST_TOLERANCE, Number.EPSILON)).map(({ position }) => position)
}

/** Google's polyline encoding with six decimals, as the routing engine has it. Elevations are not part of it. */
export const polyline6 = (positions: ReadonlyArray<Position>): string =>
  polyline.encode(positions.map(([lng, lat]) => [lat, lng]), POLYLINE_PRECISION)
