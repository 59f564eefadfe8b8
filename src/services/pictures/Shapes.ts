import type { Segments } from "../../schema/Geometry.ts"
import type { PictureOptions } from "../../schema/Picture.ts"
import { type Coordinates, EARTH_RADIUS, FULL_TURN, nearest, NO_GAPS, radians, rangesOf } from "../geometry/Geodesy.ts"
import { type Html, html } from "../operations/Html.ts"

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** The projection is Mercator; longitudes and latitudes are in degrees at the equator. */
export interface Frame {
  readonly west: number
  readonly north: number
  /** A pixel has a side of this many degrees. */
  readonly degrees: number
}

interface Projected {
  readonly frame: Frame
  readonly line: Points
  readonly marks: Points
  readonly metresPerPixel: number
  /** The ratio of the scales at the two edges of the line is at least 1. */
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

/** A degree of a parallel has this share of the length of one of the equator. */
const shrinkAt = (northing: number) => Math.cos(latitudeOf(northing))

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
  const shrink = shrinkAt(middleOf(north))
  const least = (LEAST_METRES / EARTH_CIRCUMFERENCE) * (FULL_TURN / shrink)
  const degrees = Math.max(
    sizeOf(east) / box.width,
    sizeOf(north) / box.height,
    least / Math.min(box.width, box.height)
  )
  const toX = (lng: number) => box.x + box.width / 2 + (lng - middleOf(east)) / degrees
  const toY = (value: number) => box.y + box.height / 2 - (value - middleOf(north)) / degrees
  const shrinks = [shrinkAt(north.from), shrinkAt(north.to), shrinkAt(Math.min(Math.max(0, north.from), north.to))]
  return {
    frame: {
      degrees,
      west: middleOf(east) - degrees * (box.x + box.width / 2),
      north: middleOf(north) + degrees * (box.y + box.height / 2)
    },
    line: { xs: lngs.map(toX), ys: norths.map(toY) },
    marks: { xs: markLngs.map(toX), ys: markNorths.map(toY) },
    metresPerPixel: (degrees / FULL_TURN) * EARTH_CIRCUMFERENCE * shrink,
    distortion: Math.max(...shrinks) / Math.min(...shrinks)
  }
}

/** `pages.css` has these colours. `line` has a contrast of 3:1 or more with `ground` (WCAG 2.2, 1.4.11). */
export const COLOURS = {
  light: {
    ground: "#f3f5f1",
    edge: "#ffffff",
    line: "#0b5cad",
    start: "#1a7f37",
    end: "#b3261e",
    text: "#3a4048",
    shade: "#0b5cad",
    rule: "#c3c9c2"
  },
  dark: {
    ground: "#1d2125",
    edge: "#0b0d0f",
    line: "#8ec5ff",
    start: "#5fd47f",
    end: "#ffb4ab",
    text: "#c4cad2",
    shade: "#8ec5ff",
    rule: "#454c54"
  }
} as const satisfies Record<PictureOptions["theme"], Readonly<Record<string, string>>>

export type Colours = (typeof COLOURS)[keyof typeof COLOURS]

/** PNGs are drawn with the first font. */
const FONTS = "DejaVu Sans, Verdana, Arial, sans-serif"

export const FONT_SIZE = 11

/** Digits and lowercase letters of the widest font are this wide on average. */
const CHARACTER_WIDTH = 0.63 * FONT_SIZE

export const widthOf = (text: string): number => text.length * CHARACTER_WIDTH

interface Label {
  readonly x: number
  readonly y: number
  readonly anchor: "start" | "middle" | "end"
  readonly colour: string
}

export const label = (text: string, { anchor, colour, x, y }: Label): Html =>
  html`<text x="${round(x)}" y="${
    round(y)
  }" fill="${colour}" font-family="${FONTS}" font-size="${FONT_SIZE}" text-anchor="${anchor}">${text}</text>`

export const stroked = (path: string, colour: string, width: number, fill = "none"): Html =>
  html`<path d="${path}" fill="${fill}" stroke="${colour}" stroke-width="${
    round(width)
  }" stroke-linejoin="round" stroke-linecap="round"/>`

export const round = (value: number): number => Math.round(value * 10) / 10

/** Groups no digits, since a picture has no language: a German reads "1,800 m" as less than two metres. */
const figure = (value: number, digits: number) =>
  value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: digits, signDisplay: "negative" })

export const metres = (value: number): string => `${figure(value, 0)} m`

export const distance = (value: number): string =>
  value < 1000 ? metres(value) : `${figure(value / 1000, value < 100_000 ? 1 : 0)} km`

/** Returns the largest of 1, 2 and 5 times a power of ten that is at most `limit`. */
export const roundLength = (limit: number): number => {
  const power = 10 ** Math.floor(Math.log10(limit))
  return [5, 2].map((factor) => factor * power).find((length) => length <= limit) ?? power
}

/** The points are pixels of a picture, with the y axis down. */
export interface Points {
  readonly xs: Float64Array
  readonly ys: Float64Array
}

/** The index is that of a point. */
const valueAt = (values: Float64Array, index: number) => values[index] ?? 0

export const pointAt = ({ xs, ys }: Points, index: number) => ({ x: valueAt(xs, index), y: valueAt(ys, index) })

/** The line has gaps before the points at the indexes. */
interface Line extends Points {
  readonly segments: Segments
}

const LEAST_STEP = 1.2

/** A zigzag across the whole picture has no points that are too near to be drawn. */
const MAX_POINTS = 3000

/** Thins the points to at most `MAX_POINTS`, and the first and the last one of each part of the line. */
export const thinned = ({ xs, ys }: Points, segments: Segments = NO_GAPS): Line => {
  const last = xs.length - 1
  const starts = new Set(segments)
  const isEnd = (index: number) => starts.has(index) || starts.has(index + 1)
  const kept: Array<number> = last < 0 ? [] : [0]
  let previous = 0
  for (let index = 1; index < last; index++) {
    const byX = valueAt(xs, index) - valueAt(xs, previous)
    const byY = valueAt(ys, index) - valueAt(ys, previous)
    if (byX * byX + byY * byY >= LEAST_STEP * LEAST_STEP || isEnd(index)) {
      kept.push(index)
      previous = index
    }
  }
  if (last > 0) kept.push(last)
  // The step is odd, so that both sides of a zigzag are kept.
  const every = Math.ceil(kept.length / MAX_POINTS) | 1
  const places = kept.filter((place, index) => index % every === 0 || isEnd(place) || place === last)
  return {
    segments: places.flatMap((place, index) => starts.has(place) ? [index] : []),
    xs: Float64Array.from(places, (index) => valueAt(xs, index)),
    ys: Float64Array.from(places, (index) => valueAt(ys, index))
  }
}

const tenths = (value: number) => Math.round(value * 10)

/** Writes points to a tenth of a pixel, each relative to the rounded one before it, so that errors do not add up. */
const pathOf = (xs: Float64Array, ys: Float64Array): string => {
  let path = ""
  let x = 0
  let y = 0
  for (let index = 0; index < xs.length; index++) {
    const nextX = tenths(valueAt(xs, index))
    const nextY = tenths(valueAt(ys, index))
    const isFirst = index === 0
    if (!isFirst && nextX === x && nextY === y && index < xs.length - 1) continue
    path += `${isFirst ? "M" : "l"}${(nextX - x) / 10} ${(nextY - y) / 10}`
    x = nextX
    y = nextY
  }
  return path
}

export const pathsOf = ({ segments, xs, ys }: Line): ReadonlyArray<string> =>
  rangesOf(xs.length, segments).map(({ from, to }) => pathOf(xs.subarray(from, to), ys.subarray(from, to)))
