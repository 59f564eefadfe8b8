import type { Position } from "../../schema/Geometry.ts"
import { MAX_DISTANCE } from "../../schema/Route.ts"
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
  const bounds = boundsOf(positions)
  return bounds === undefined ? null : boxText(bounds)
}

/** Measures a geometry at once: 0.2 s for 100,000 positions. */
export const routeLine = (positions: ReadonlyArray<Position>): RouteLine => {
  const bounds = boundsOf(positions)
  return {
    json: JSON.stringify(positions),
    simplified: JSON.stringify(simplifiedLine(positions, bounds)),
    polyline6: polyline6(positions),
    positionCount: positions.length,
    box: bounds === undefined ? null : boxText(bounds),
    metres: positions.length < 2 ? null : Math.min(lengthOf(positions), MAX_DISTANCE),
    start: positions[0]
  }
}
