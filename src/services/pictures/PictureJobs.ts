import { Result } from "effect"
import { createRequire } from "node:module"
import type { Position, Segments } from "../../schema/Geometry.ts"
import type { PictureOptions } from "../../schema/Picture.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { carried } from "../files/Xml.ts"
import { type Heights, heightsAlong } from "../geometry/Elevation.ts"
import { type Coordinates, coordinatesOf, metresAlong, NO_GAPS } from "../geometry/Geodesy.ts"
import { elevationsOf, positionsOf, readSegments } from "../geometry/MeasuredPolyline.ts"
import { type Html, html } from "../operations/Html.ts"
import { readWaypoints } from "../routes/RouteText.ts"
import { type CardTexts, drawCard } from "./Card.ts"
import {
  type Box,
  COLOURS,
  type Colours,
  distance,
  FONT_SIZE,
  label,
  metres,
  pathsOf,
  pointAt,
  type Points,
  project,
  round,
  roundLength,
  stroked,
  thinned,
  widthOf
} from "./Shapes.ts"

interface Profile extends Heights {
  readonly segments: Segments
  readonly length: number
  readonly lowest: number
  readonly highest: number
}

/** Returns undefined with fewer than two elevations, and for a line without a length. */
const drawnProfile = (line: Coordinates, segments: Segments, elevations: Float64Array): Profile | undefined => {
  const along = metresAlong(line, segments)
  const length = along.at(-1) ?? 0
  const heights = heightsAlong(along, elevations, segments)
  if (heights.at.length < 2 || length === 0) return undefined
  const lowest = heights.elevations.reduce((low, elevation) => Math.min(low, elevation), Infinity)
  const highest = heights.elevations.reduce((high, elevation) => Math.max(high, elevation), -Infinity)
  return { ...heights, length, lowest, highest }
}

/** A flat ride should look flat. */
const LEAST_RISE = 40

const LABEL_GAP = 6

/** The base line of a text is this far below the top of its digits. */
const BASE_LINE = 0.8 * FONT_SIZE

const drawProfile = (profile: Profile, { height, width, x, y }: Box, colours: Colours): Html => {
  const { at, elevations, highest, length, lowest, segments } = profile
  const missing = Math.max(0, LEAST_RISE - (highest - lowest)) / 2
  const bottom = lowest - missing
  const rise = highest - lowest + 2 * missing
  const low = metres(lowest)
  const high = metres(highest)
  const left = x + Math.max(widthOf(low), widthOf(high)) + LABEL_GAP
  const plotWidth = x + width - left
  const floor = y + height - FONT_SIZE - LABEL_GAP
  const plotHeight = floor - y
  const toY = (elevation: number) => floor - ((elevation - bottom) / rise) * plotHeight
  const points = thinned({
    xs: at.map((metres) => left + (metres / length) * plotWidth),
    ys: elevations.map(toY)
  }, segments)
  const paths = pathsOf(points)
  const area = paths.map((path, index) =>
    `${path}V${round(floor)}H${round(points.xs[points.segments[index] ?? 0] ?? left)}Z`
  )
  const isFlat = toY(lowest) - toY(highest) < FONT_SIZE
  const { line, rule, shade, text } = colours
  const beside = { x: left - LABEL_GAP, anchor: "end", colour: text } as const
  const below = { y: floor + FONT_SIZE + LABEL_GAP / 2, colour: text } as const
  return html`<path d="${area.join("")}" fill="${shade}" fill-opacity="0.18"/>
<path d="M${round(left)} ${round(floor)}H${round(left + plotWidth)}" stroke="${rule}" fill="none"/>
<path d="${paths.join("")}" fill="none" stroke="${line}" stroke-width="1.5" stroke-linejoin="round"/>
${label(high, { ...beside, y: toY(highest) + (isFlat ? BASE_LINE / 2 : BASE_LINE) })}
${isFlat ? undefined : label(low, { ...beside, y: toY(lowest) })}
${label("0", { ...below, x: left, anchor: "start" })}
${label(distance(length), { ...below, x: left + plotWidth, anchor: "end" })}`
}

interface Subject {
  readonly name: string
  readonly positions: ReadonlyArray<Position>
  readonly segments?: Segments
  /** The waypoints are drawn if there is no line, and between its ends. */
  readonly waypoints: ReadonlyArray<Position>
  readonly attribution: string | undefined
}

/** Smaller pictures have no room for texts. */
const LEAST_SIDE_WITH_TEXT = 160

/** In narrower pictures the attribution is above the scale bar. */
const LEAST_WIDTH_OF_ONE_ROW = 400

/** A scale bar that is true for a part of the picture only would mislead. */
const MAX_DISTORTION = 1.5

const MARGIN = 12

const MAX_PROFILE_HEIGHT = 220

interface Layout {
  readonly map: Box
  readonly profile: Box | undefined
  readonly foot: number
  readonly hasText: boolean
  readonly unit: number
}

const layoutOf = ({ height, width }: PictureOptions, profile: Profile | undefined, hasHeader: boolean): Layout => {
  const side = Math.min(width, height)
  const hasText = side >= LEAST_SIDE_WITH_TEXT
  const unit = Math.min(Math.max(side / 320, 0.6), 1.6)
  const profileHeight = profile === undefined || !hasText ? 0 : Math.min(Math.round(height * 0.28), MAX_PROFILE_HEIGHT)
  const border = Math.round(Math.min(14 * unit + 8, side / 5))
  const footer = hasText ? FONT_SIZE + MARGIN : 0
  const header = hasText && hasHeader ? FONT_SIZE : 0
  const mapHeight = height - profileHeight
  return {
    map: {
      x: border,
      y: border + header,
      width: width - 2 * border,
      height: mapHeight - 2 * border - header - footer
    },
    foot: mapHeight - MARGIN,
    profile: profileHeight === 0
      ? undefined
      : { x: MARGIN, y: mapHeight, width: width - 2 * MARGIN, height: profileHeight - MARGIN },
    hasText,
    unit
  }
}

type Point = ReturnType<typeof pointAt>

const circle = ({ x, y }: Point, radius: number, fill: string, stroke: string, width: number) =>
  html`<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" fill="${fill}" stroke="${stroke}" stroke-width="${
    round(width)
  }"/>`

/** The end is a square, so that it differs from the start by more than its colour. */
const square = ({ x, y }: Point, half: number, fill: string, stroke: string, width: number) =>
  html`<rect x="${round(x - half)}" y="${round(y - half)}" width="${round(2 * half)}" height="${round(2 * half)}" rx="${
    round(half / 3)
  }" fill="${fill}" stroke="${stroke}" stroke-width="${round(width)}"/>`

const START_RADIUS = 5.6

const marksOf = (line: Points, marks: Points, unit: number, colours: Colours): ReadonlyArray<Html> => {
  const { edge, end, line: blue, start } = colours
  const ends = line.xs.length > 0 ? line : marks
  const last = ends.xs.length - 1
  const [from, to] = [pointAt(ends, 0), pointAt(ends, last)]
  // A privacy zone may hide the first waypoint and the last: no waypoint is an end of the line by its index.
  const isEnd = ({ x, y }: Point) => [from, to].some((at) => Math.hypot(x - at.x, y - at.y) < START_RADIUS * unit)
  const between = [...marks.xs.keys()].flatMap((index) => {
    const point = pointAt(marks, index)
    return isEnd(point) ? [] : [circle(point, 3.2 * unit, edge, blue, 1.8 * unit)]
  })
  if (last < 0) return between
  return [
    ...between,
    ...(last > 0 ? [square(to, 5 * unit, end, edge, 2 * unit)] : []),
    circle(from, START_RADIUS * unit, start, edge, 2 * unit)
  ]
}

const scaleBar = (metresPerPixel: number, y: number, width: number, { text }: Colours): Html => {
  const x = MARGIN
  const length = roundLength(metresPerPixel * Math.min(width / 4, 160))
  const pixels = length / metresPerPixel
  return html`<path d="M${round(x)} ${round(y - 5)}v5h${
    round(pixels)
  }v-5" fill="none" stroke="${text}" stroke-width="1.5"/>
${label(distance(length), { x: x + pixels + 6, y, anchor: "start", colour: text })}`
}

/** Draws an SVG document of the size in the options. Time and length are bounded for any line. */
export const drawPicture = (
  { attribution, name, positions, segments = NO_GAPS, waypoints }: Subject,
  options: PictureOptions
): string => {
  const { height, theme, width } = options
  const colours = COLOURS[theme]
  const coordinates = coordinatesOf(positions)
  const profile = options.profile ? drawnProfile(coordinates, segments, elevationsOf(positions)) : undefined
  const isOneRow = width >= LEAST_WIDTH_OF_ONE_ROW
  const layout = layoutOf(options, profile, attribution !== undefined && !isOneRow)
  const { foot, map, unit } = layout
  const { distortion, line, marks, metresPerPixel } = project(coordinates, coordinatesOf(waypoints), map)
  const path = pathsOf(thinned(line, segments)).join("")
  const isEmpty = positions.length + waypoints.length === 0
  const right = { x: width - MARGIN, anchor: "end", colour: colours.text } as const
  const stroke = (colour: string, thickness: number) => stroked(path, colour, thickness * unit)
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${carried(name)}</title>
<rect width="${width}" height="${height}" fill="${colours.ground}"/>
${path === "" ? undefined : html`${stroke(colours.edge, 6)}\n${stroke(colours.line, 3.2)}`}
${marksOf(line, marks, unit, colours)}
${
    layout.hasText && !isEmpty && distortion <= MAX_DISTORTION
      ? scaleBar(metresPerPixel, foot, width, colours)
      : undefined
  }
${
    layout.hasText && attribution !== undefined
      ? label(attribution, { ...right, y: isOneRow ? foot : FONT_SIZE + 4 })
      : undefined
  }
${
    isEmpty && layout.hasText
      ? label("No line is shown", { x: width / 2, y: height / 2, anchor: "middle", colour: colours.text })
      : undefined
  }
${profile === undefined || layout.profile === undefined ? undefined : drawProfile(profile, layout.profile, colours)}
</svg>
`.html.replace(/\n+/g, "\n")
}

/** The texts are JSON, as they are stored. */
interface Shape {
  readonly geometry: string
  readonly segments?: string | undefined
  readonly waypoints: string
}

const shapeOf = ({ geometry, segments = "[]", waypoints }: Shape) => ({
  positions: positionsOf(geometry),
  segments: readSegments(segments),
  waypoints: readWaypoints(waypoints).map(({ coord }) => coord)
})

interface PictureOrder extends Shape {
  readonly name: string
  readonly attribution: string | undefined
  readonly options: PictureOptions
}

const draw = ({ attribution, name, options, ...shape }: PictureOrder): string =>
  drawPicture({ name, attribution, ...shapeOf(shape) }, options)

const share = "pictures"

export const drawSvg = new HeavyJob<PictureOrder, Uint8Array>(import.meta.url, {
  name: "draw SVG",
  share,
  run: (order) => new TextEncoder().encode(draw(order))
})

/** System fonts differ from machine to machine, and an image of the service has none. */
const FONT = {
  loadSystemFonts: false,
  fontFiles: ["DejaVuSans", "DejaVuSans-Bold"].map((name) =>
    createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`)
  ),
  defaultFontFamily: "DejaVu Sans"
}

const rendered = async (svg: string) => {
  // The binary is loaded here, so that only threads that need it have it.
  const { Resvg } = await import("@resvg/resvg-js")
  return new Uint8Array(new Resvg(svg, { font: FONT, logLevel: "off" }).render().asPng())
}

export const drawPng = new HeavyJob<PictureOrder, Uint8Array>(import.meta.url, {
  name: "draw PNG",
  share,
  run: (order) => rendered(draw(order))
})

type CardOrder = CardTexts & Shape

interface CardPng {
  readonly bytes: Uint8Array
  /** The value is false if the tiles cannot be read. */
  readonly hasMap: boolean
}

export const drawCardPng = new HeavyJob<CardOrder, CardPng>(import.meta.url, {
  name: "draw card",
  share,
  run: async ({ geometry, segments, waypoints, ...texts }) => {
    const subject = { ...texts, ...shapeOf({ geometry, segments, waypoints }) }
    const drawn = Result.try(() => drawCard(subject))
    const svg = Result.getOrElse(drawn, () => drawCard({ ...subject, tiles: [] }))
    return { bytes: await rendered(svg), hasMap: Result.isSuccess(drawn) }
  }
})
