import type { BoundingBox, Position } from "../../schema/Geometry.ts"
import { MAX_DISTANCE } from "../../schema/Measures.ts"
import { MAX_ELEVATION_GAIN } from "../../schema/Route.ts"
import { type Coordinates, coordinatesOf } from "./Coordinates.ts"
import { elevationGainOf } from "./Elevation.ts"
import { lengthOf } from "./Geodesy.ts"
import { encodePolyline } from "./PolylineEncoding.ts"
import { boundsOf, simplifiedLine } from "./Polylines.ts"

/** A route's polyline in every stored form, as a thread returns it. */
export interface MeasuredPolyline {
  readonly json: string
  readonly simplified: string
  readonly polyline6: string
  readonly positionCount: number
  readonly box: string | null
  readonly metres: number | null
  readonly elevationGain: number | null
  readonly start: Position | undefined
}

const boxText = ({ east, north, south, west }: BoundingBox) => `(${east},${north}),(${west},${south})`

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

const gainOf = (coordinates: Coordinates, elevations: Float64Array | undefined) => {
  const gain = elevations === undefined ? undefined : elevationGainOf(coordinates, elevations)
  return gain === undefined ? null : Math.min(gain, MAX_ELEVATION_GAIN)
}

/** Synchronous: 0.1 s for 100,000 positions. */
export const measurePolyline = ({ coordinates, elevations, json, start, textAt }: ParsedPolyline): MeasuredPolyline => {
  const bounds = boundsOf(coordinates)
  const positionCount = coordinates.lngs.length
  return {
    json,
    simplified: `[${Array.from(simplifiedLine(coordinates, bounds), textAt).join(",")}]`,
    polyline6: encodePolyline(coordinates),
    positionCount,
    box: bounds === undefined ? null : boxText(bounds),
    metres: positionCount < 2 ? null : Math.min(lengthOf(coordinates), MAX_DISTANCE),
    elevationGain: gainOf(coordinates, elevations),
    start
  }
}

export const elevationsOf = (positions: ReadonlyArray<Position>): Float64Array => {
  const elevations = new Float64Array(positions.length)
  positions.forEach((position, index) => elevations[index] = position[2] ?? Number.NaN)
  return elevations
}

/** Synchronous: 0.2 s for 100,000 positions. */
export const measurePositions = (positions: ReadonlyArray<Position>): MeasuredPolyline =>
  measurePolyline({
    coordinates: coordinatesOf(positions),
    elevations: elevationsOf(positions),
    json: JSON.stringify(positions),
    start: positions[0],
    textAt: (index) => JSON.stringify(positions[index])
  })
