import { Schema } from "effect"
import { type BoundingBox, DEGREES, MAX_POSITIONS, type Position, Positions } from "../../schema/Geometry.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { MAX_DISTANCE } from "../../schema/Measures.ts"
import { MAX_ELEVATION_GAIN } from "../../schema/Route.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { elevationGainOf } from "./Elevation.ts"
import { boundsOf, type Coordinates, coordinatesOf, isOnEarth, metresAlong } from "./Geodesy.ts"
import { decodePolyline, encodePolyline, positionCount } from "./Polyline.ts"
import { simplifiedLine } from "./Simplification.ts"

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

const gainOf = (coordinates: Coordinates, elevations: Float64Array | undefined, along: Float64Array) => {
  const gain = elevations === undefined ? undefined : elevationGainOf(coordinates, elevations, along)
  return gain === undefined ? null : Math.min(gain, MAX_ELEVATION_GAIN)
}

/** Synchronous: 0.1 s for 100,000 positions. */
export const measurePolyline = ({ coordinates, elevations, json, start, textAt }: ParsedPolyline): MeasuredPolyline => {
  const bounds = boundsOf(coordinates)
  const positionCount = coordinates.lngs.length
  const along = metresAlong(coordinates)
  return {
    json,
    simplified: `[${Array.from(simplifiedLine(coordinates, bounds), textAt).join(",")}]`,
    polyline6: encodePolyline(coordinates),
    positionCount,
    box: bounds === undefined ? null : boxText(bounds),
    metres: positionCount < 2 ? null : Math.min(along.at(-1) ?? 0, MAX_DISTANCE),
    elevationGain: gainOf(coordinates, elevations, along),
    start
  }
}

/** Reads `MeasuredPolyline.json`, as it is stored. Synchronous: 0.1 s for 100,000 positions. */
export const positionsOf = Schema.decodeSync(Schema.fromJsonString(Positions))

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

/** The work for a position of a polyline, which has as little as two bytes. */
const POSITION_BYTES = 16

export const BROKEN_POLYLINE6: ValidationIssue = {
  path: "polyline6",
  message:
    `Expected an encoded polyline with six decimals of at most ${MAX_POSITIONS} positions, ${DEGREES.latitude} and `
    + `${DEGREES.longitude} degrees`
}

/** Synchronous: 0.1 s for 100,000 positions. Undefined for an invalid or too long polyline. */
export const measurePolyline6 = (encoded: string): MeasuredPolyline | undefined => {
  if (positionCount(encoded) > MAX_POSITIONS) return undefined
  const coordinates = decodePolyline(encoded)
  if (coordinates === undefined || !isOnEarth(coordinates)) return undefined
  const { lats, lngs } = coordinates
  const textAt = (index: number) => `[${lngs[index] ?? 0},${lats[index] ?? 0}]`
  const texts = Array.from(lngs, (_, index) => textAt(index))
  const start = lngs.length === 0 ? undefined : [lngs[0] ?? 0, lats[0] ?? 0] as const
  return measurePolyline({ coordinates, elevations: undefined, json: `[${texts.join(",")}]`, start, textAt })
}

export const polyline6Bytes = (encoded: string): number => POSITION_BYTES * positionCount(encoded)

/** A short body may have a polyline of many positions. */
export const readPolyline6 = new HeavyJob<string, MeasuredPolyline | undefined>(import.meta.url, {
  name: "read polyline6",
  share: "bodies",
  run: measurePolyline6
})
