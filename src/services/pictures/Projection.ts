import { type Coordinates, EARTH_RADIUS, FULL_TURN, nearest, radians } from "../geometry/Geodesy.ts"
import type { Points } from "./Shapes.ts"

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** The Mercator projection of a picture, whose longitudes and latitudes are in degrees at the equator. */
export interface Frame {
  readonly west: number
  readonly north: number
  /** The side of a pixel. */
  readonly degrees: number
}

export interface Projected {
  readonly frame: Frame
  readonly line: Points
  readonly marks: Points
  readonly metresPerPixel: number
  /** The ratio of the scales at the two edges of the line, at least 1. */
  readonly distortion: number
}

/** Maps of the web end the Mercator projection here. */
const MAX_LATITUDE = 85.051_128_78

const EARTH_CIRCUMFERENCE = 2 * Math.PI * EARTH_RADIUS

/** A single point is shown with its surroundings. */
const LEAST_METRES = 200

const northing = (lat: number) => {
  const inside = Math.min(Math.max(lat, -MAX_LATITUDE), MAX_LATITUDE)
  return (Math.log(Math.tan(Math.PI / 4 + radians(inside) / 2)) * FULL_TURN) / (2 * Math.PI)
}

const latitudeOf = (northing: number) => 2 * Math.atan(Math.exp(radians(northing))) - Math.PI / 2

interface Range {
  readonly from: number
  readonly to: number
}

/** A spread of 100,000 numbers exceeds the arguments of a call. */
const rangeOf = (...lists: ReadonlyArray<Float64Array>): Range => {
  let from = Infinity
  let to = -Infinity
  for (const list of lists) {
    for (const value of list) {
      if (value < from) from = value
      if (value > to) to = value
    }
  }
  return from > to ? { from: 0, to: 0 } : { from, to }
}

const middleOf = ({ from, to }: Range) => (from + to) / 2
const sizeOf = ({ from, to }: Range) => to - from

/** Longitudes have no jump at the antimeridian, unless the line goes around the Earth. */
const unrolled = (lngs: Float64Array): Float64Array => {
  const turned = new Float64Array(lngs.length)
  lngs.forEach((lng, index) => {
    turned[index] = index === 0 ? lng : nearest(lng, turned[index - 1] ?? lng)
  })
  return sizeOf(rangeOf(turned)) > FULL_TURN ? lngs : turned
}

/** Fits a line and the marks beside it into a box (Mercator). */
export const project = (line: Coordinates, marks: Coordinates, box: Box): Projected => {
  const lngs = unrolled(line.lngs)
  const middle = lngs.length === 0 ? marks.lngs[0] ?? 0 : middleOf(rangeOf(lngs))
  const markLngs = marks.lngs.map((lng) => nearest(lng, middle))
  const norths = line.lats.map(northing)
  const markNorths = marks.lats.map(northing)
  const east = rangeOf(lngs, markLngs)
  const north = rangeOf(norths, markNorths)
  const shrink = Math.cos(latitudeOf(middleOf(north)))
  const least = (LEAST_METRES / EARTH_CIRCUMFERENCE) * (FULL_TURN / shrink)
  const degrees = Math.max(
    sizeOf(east) / box.width,
    sizeOf(north) / box.height,
    least / Math.min(box.width, box.height)
  )
  const toX = (lng: number) => box.x + box.width / 2 + (lng - middleOf(east)) / degrees
  const toY = (value: number) => box.y + box.height / 2 - (value - middleOf(north)) / degrees
  const scaleAt = (value: number) => 1 / Math.cos(latitudeOf(value))
  const scales = [scaleAt(north.from), scaleAt(north.to), scaleAt(Math.min(Math.max(0, north.from), north.to))]
  return {
    frame: {
      degrees,
      west: middleOf(east) - degrees * (box.x + box.width / 2),
      north: middleOf(north) + degrees * (box.y + box.height / 2)
    },
    line: { xs: lngs.map(toX), ys: norths.map(toY) },
    marks: { xs: markLngs.map(toX), ys: markNorths.map(toY) },
    metresPerPixel: (degrees / FULL_TURN) * EARTH_CIRCUMFERENCE * shrink,
    distortion: Math.max(...scales) / Math.min(...scales)
  }
}
