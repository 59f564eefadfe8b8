import type { Position } from "../../schema/Geometry.ts"
import { MAX_DISTANCE } from "../../schema/Route.ts"
import { type Coordinates, coordinatesOf } from "./Coordinates.ts"
import { lengthOf } from "./Geodesy.ts"
import { type Bounds, boundsOf, polyline6, simplifiedLine } from "./Lines.ts"

/** The line of a route in every form that is stored: a thread makes it of a long geometry, and this is all it sends. */
export interface RouteLine {
  /** The positions as JSON text, like those of the simplified line. */
  readonly json: string
  readonly simplified: string
  readonly polyline6: string
  readonly positionCount: number
  /** As PostgreSQL reads it; none without a position. */
  readonly box: string | null
  /** None with fewer than two positions. */
  readonly metres: number | null
  readonly start: Position | undefined
}

const boxText = ({ east, north, south, west }: Bounds) => `(${east},${north}),(${west},${south})`

/** The box around positions; as PostgreSQL reads it. */
export const boxAround = (positions: ReadonlyArray<Position>): string | null => {
  const bounds = boundsOf(coordinatesOf(positions))
  return bounds === undefined ? null : boxText(bounds)
}

/** A line as numbers and as the text that is stored. */
export interface WrittenLine {
  readonly coordinates: Coordinates
  readonly json: string
  readonly start: Position | undefined
  /** The text of the position with that index. */
  readonly textAt: (index: number) => string
}

/** Measures a line at once: 0.1 s for 100,000 positions. */
export const measured = ({ coordinates, json, start, textAt }: WrittenLine): RouteLine => {
  const bounds = boundsOf(coordinates)
  const positionCount = coordinates.lngs.length
  return {
    json,
    simplified: `[${Array.from(simplifiedLine(coordinates, bounds), textAt).join(",")}]`,
    polyline6: polyline6(coordinates),
    positionCount,
    box: bounds === undefined ? null : boxText(bounds),
    metres: positionCount < 2 ? null : Math.min(lengthOf(coordinates), MAX_DISTANCE),
    start
  }
}

/** Measures a geometry at once: 0.2 s for 100,000 positions. */
export const routeLine = (positions: ReadonlyArray<Position>): RouteLine =>
  measured({
    coordinates: coordinatesOf(positions),
    json: JSON.stringify(positions),
    start: positions[0],
    textAt: (index) => JSON.stringify(positions[index])
  })
