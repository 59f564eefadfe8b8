import { type Heights, heightsAlong } from "../geometry/Elevation.ts"
import { type Coordinates, metresAlong } from "../geometry/Geodesy.ts"
import { type Html, html } from "../operations/Html.ts"
import type { Box } from "./Projection.ts"
import { type Colours, distance, FONT_SIZE, label, metres, pathOf, round, thinned, widthOf } from "./Shapes.ts"

export interface Profile extends Heights {
  readonly length: number
  readonly lowest: number
  readonly highest: number
}

/** Returns undefined with fewer than two elevations, and for a line without a length. */
export const drawnProfile = (line: Coordinates, elevations: Float64Array): Profile | undefined => {
  const along = metresAlong(line)
  const length = along.at(-1) ?? 0
  const heights = heightsAlong(along, elevations)
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

export const drawProfile = (profile: Profile, { height, width, x, y }: Box, colours: Colours): Html => {
  const { at, elevations, highest, length, lowest } = profile
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
  })
  const path = pathOf(points)
  const from = points.xs[0] ?? left
  const isFlat = toY(lowest) - toY(highest) < FONT_SIZE
  const { line, rule, shade, text } = colours
  const beside = { x: left - LABEL_GAP, anchor: "end", colour: text } as const
  const below = { y: floor + FONT_SIZE + LABEL_GAP / 2, colour: text } as const
  return html`<path d="${path}V${round(floor)}H${round(from)}Z" fill="${shade}" fill-opacity="0.18"/>
<path d="M${round(left)} ${round(floor)}H${round(left + plotWidth)}" stroke="${rule}" fill="none"/>
<path d="${path}" fill="none" stroke="${line}" stroke-width="1.5" stroke-linejoin="round"/>
${label(high, { ...beside, y: toY(highest) + (isFlat ? BASE_LINE / 2 : BASE_LINE) })}
${isFlat ? html`` : label(low, { ...beside, y: toY(lowest) })}
${label("0", { ...below, x: left, anchor: "start" })}
${label(distance(length), { ...below, x: left + plotWidth, anchor: "end" })}`
}
