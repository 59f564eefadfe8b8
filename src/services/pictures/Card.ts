import type { Position, Segments } from "../../schema/Geometry.ts"
import { carried } from "../files/Xml.ts"
import { coordinatesOf } from "../geometry/Geodesy.ts"
import { type Html, html } from "../operations/Html.ts"
import type { PlacedTile } from "./MapStyle.ts"
import { COLOURS, pathsOf, type Points, project, round, thinned } from "./Shapes.ts"
import { drawVectorMap } from "./VectorMap.ts"

/** Most sites show this size without cropping it. */
export const CARD = { width: 1200, height: 630 } as const

/** The words of a card, in the language of the service. */
export interface CardTexts {
  readonly title: string
  /** Beside each other: place, distance, ascent. */
  readonly facts: ReadonlyArray<string>
  readonly site: string
  /** The colour of the site on a light ground. */
  readonly color: string
  /** A `data:` URL. */
  readonly logo: string | undefined
  readonly attribution: string | undefined
  readonly tiles: ReadonlyArray<PlacedTile>
}

interface Subject extends CardTexts {
  readonly positions: ReadonlyArray<Position>
  readonly segments: Segments
  readonly waypoints: ReadonlyArray<Position>
}

/** Sites show a card at a third of its size: a smaller text is not read. */
const SMALL = 24

const MARGIN = 48

const BAND = 200

/** The part of a card that has a map. */
export const CARD_GROUND = { width: CARD.width, height: CARD.height - BAND } as const

/** Where the line is. */
export const CARD_MAP = { x: 90, y: 60, width: CARD.width - 180, height: CARD_GROUND.height - 120 }

interface Text {
  readonly x: number
  readonly y: number
  readonly size: number
  readonly colour: string
  readonly anchor?: "start" | "end"
  readonly weight?: "normal" | "bold"
}

const written = (text: string, { anchor = "start", colour, size, weight = "normal", x, y }: Text): Html =>
  html`<text x="${x}" y="${y}" fill="${colour}" font-family="DejaVu Sans" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}">${
    carried(text)
  }</text>`

/** The average widths of letters of the font, in its size. */
const LETTER = { normal: 0.58, bold: 0.66 }

const cut = (text: string, size: number, width: number, letter = LETTER.normal): string => {
  const letters = [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)]
  const fitting = Math.floor(width / (letter * size))
  return letters.length <= fitting
    ? text
    : `${letters.slice(0, fitting - 1).map(({ segment }) => segment).join("").trimEnd()}…`
}

const TITLE = 52

const FACT = 34

/** The first byte of its files; tiles are PNG or JPEG. */
const PNG = 0x89

const LOGO = { width: 180, height: 84 }

const mapOf = (tiles: ReadonlyArray<PlacedTile>, line: Points): Html =>
  tiles[0]?.type === "vector"
    ? drawVectorMap(tiles, line, CARD_GROUND.width, CARD_GROUND.height)
    : html`${
      tiles.map(({ bytes, side, x, y }) =>
        html`<image x="${round(x)}" y="${round(y)}" width="${side}" height="${side}" href="data:${
          bytes[0] === PNG ? "image/png" : "image/jpeg"
        };base64,${Buffer.from(bytes).toString("base64")}"/>\n`
      )
    }`

/** Draws the card of a route as an SVG document, bounded for any line. */
export const drawCard = (
  { attribution, color, facts, logo, positions, segments, site, tiles, title, waypoints }: Subject
): string => {
  const { edge, end, ground, start, text } = COLOURS.light
  const { line, marks } = project(coordinatesOf(positions), coordinatesOf(waypoints), CARD_MAP)
  const ends = line.xs.length > 0 ? line : marks
  const path = pathsOf(thinned(line, segments)).join("")
  const last = ends.xs.length - 1
  const at = (index: number) => ({ x: round(ends.xs[index] ?? 0), y: round(ends.ys[index] ?? 0) })
  const stroke = (colour: string, width: number) =>
    html`<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round" stroke-linecap="round"/>`
  const top = CARD_GROUND.height
  const inner = CARD.width - 2 * MARGIN
  const beside = logo === undefined ? inner : inner - LOGO.width - MARGIN
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${CARD.width}" height="${CARD.height}" viewBox="0 0 ${CARD.width} ${CARD.height}">
<rect width="${CARD.width}" height="${CARD.height}" fill="${ground}"/>
${mapOf(tiles, ends)}${path === "" ? undefined : html`${stroke(edge, 13)}\n${stroke(color, 8)}`}
${
    last > 0
      ? html`<rect x="${at(last).x - 12}" y="${
        at(last).y - 12
      }" width="24" height="24" rx="4" fill="${end}" stroke="${edge}" stroke-width="4"/>`
      : undefined
  }
${
    last < 0
      ? undefined
      : html`<circle cx="${at(0).x}" cy="${at(0).y}" r="14" fill="${start}" stroke="${edge}" stroke-width="4"/>`
  }
<rect y="${top}" width="${CARD.width}" height="${BAND}" fill="#ffffff"/>
<rect y="${top}" width="${CARD.width}" height="6" fill="${color}"/>
${
    written(cut(title, TITLE, beside, LETTER.bold), {
      x: MARGIN,
      y: top + 76,
      size: TITLE,
      weight: "bold",
      colour: "#1a1c1e"
    })
  }
${written(cut(facts.join(" · "), FACT, beside), { x: MARGIN, y: top + 128, size: FACT, colour: "#1a1c1e" })}
${
    logo === undefined
      ? undefined
      : html`<image x="${CARD.width - MARGIN - LOGO.width}" y="${
        top + 40
      }" width="${LOGO.width}" height="${LOGO.height}" preserveAspectRatio="xMaxYMid meet" href="${logo}"/>`
  }
${written(cut(site, SMALL, inner / 2), { x: MARGIN, y: top + 174, size: SMALL, colour: text })}
${
    attribution === undefined
      ? undefined
      : written(cut(attribution, SMALL, inner / 2), {
        x: CARD.width - MARGIN,
        y: top + 174,
        size: SMALL,
        anchor: "end",
        colour: text
      })
  }
</svg>
`.html.replace(/\n+/g, "\n")
}
