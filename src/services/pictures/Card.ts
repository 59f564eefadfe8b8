import { VectorTile, type VectorTileFeature } from "@mapbox/vector-tile"
import { gunzipSync } from "node:zlib"
import { PbfReader } from "pbf"
import type { Position, Segments } from "../../schema/Geometry.ts"
import { carried } from "../files/Xml.ts"
import { coordinatesOf } from "../geometry/Geodesy.ts"
import { type Html, html } from "../operations/Html.ts"
import type { PlacedTile } from "./MapStyle.ts"
import { COLOURS, pathsOf, pointAt, type Points, project, round, stroked, thinned } from "./Shapes.ts"

/** Tiles have the OpenMapTiles schema. Layers are in this order, the ground first, the edges of roads below roads. */
interface Style {
  readonly layer: string
  readonly classes: ReadonlyArray<string>
  readonly fill?: string
  readonly stroke?: string
  readonly width?: number
}

const ROADS = { motorway: 6, trunk: 5, primary: 4.5, secondary: 3.5, tertiary: 3, minor: 2, service: 1.2 }

const EDGE = 2

const roads = (stroke: string, edge: number): ReadonlyArray<Style> =>
  Object.entries(ROADS).toReversed().map(([name, width]) => ({
    layer: "transportation",
    classes: [name],
    stroke: edge === 0 && width > 4 ? "#f7dfa5" : stroke,
    width: width + edge
  }))

/** These colours are paler than the line of a route (`COLOURS`), which is above them. */
const STYLES: ReadonlyArray<Style> = [
  { layer: "landuse", classes: ["residential", "commercial", "industrial", "retail"], fill: "#e9e7e1" },
  { layer: "landcover", classes: ["grass", "farmland", "wetland"], fill: "#e6eedb" },
  { layer: "landcover", classes: ["wood"], fill: "#d3e2c6" },
  { layer: "landcover", classes: ["ice", "sand", "rock"], fill: "#fafaf7" },
  { layer: "water", classes: [], fill: "#b4d4e8" },
  { layer: "waterway", classes: ["river", "canal", "stream"], stroke: "#b4d4e8", width: 2.5 },
  { layer: "transportation", classes: ["path", "track"], stroke: "#d2ccbf", width: 1.2 },
  ...roads("#c9c3b6", EDGE),
  ...roads("#ffffff", 0),
  { layer: "transportation", classes: ["rail"], stroke: "#a9a9a9", width: 1.5 }
]

/** A larger place has its name before a smaller one. */
const PLACES = ["city", "town", "village", "suburb", "hamlet"]

/** The limit bounds the work for any tile. */
const MAX_PATH_LENGTH = 4_000_000

const MAX_TILE_BYTES = 4 * 1024 * 1024

const MAX_NAMES = 10

const layersOf = (bytes: Uint8Array) => {
  // Some servers send compressed tiles to every client.
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b
  return new VectorTile(new PbfReader(isPacked ? gunzipSync(bytes, { maxOutputLength: MAX_TILE_BYTES }) : bytes)).layers
}

const ringsOf = (feature: VectorTileFeature, { side, x, y }: PlacedTile): ReadonlyArray<Points> =>
  feature.loadGeometry().map((ring) => ({
    xs: Float64Array.from(ring, (point) => x + point.x * side / feature.extent),
    ys: Float64Array.from(ring, (point) => y + point.y * side / feature.extent)
  }))

interface Name {
  readonly text: string
  readonly rank: number
  readonly x: number
  readonly y: number
}

const nameOf = (feature: VectorTileFeature, tile: PlacedTile): ReadonlyArray<Name> => {
  const { class: kind, name, "name:latin": latin, rank } = feature.properties
  const place = PLACES.indexOf(String(kind))
  const [at] = ringsOf(feature, tile)
  return place === -1 || at === undefined
    ? []
    : [{ text: String(latin ?? name ?? ""), rank: 100 * place + Number(rank ?? 0), ...pointAt(at, 0) }]
}

const SIZE = 24

const HALF_HEIGHT = 18

/** A bold letter is this wide on average, in pixels. */
const LABEL_LETTER = 0.68 * SIZE

interface Spot {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly half: number
}

/** Each name has its place, or one above or below it, where it covers neither the line nor a name before it. */
const placed = (names: ReadonlyArray<Name>, line: Points): ReadonlyArray<Spot> => {
  const { height, width } = CARD_GROUND
  const spots: Array<Spot> = []
  const isFree = ({ half, x, y }: Spot) =>
    x > half && x < width - half && y > HALF_HEIGHT && y < height - HALF_HEIGHT
    && !spots.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < 2 * HALF_HEIGHT)
    && !line.xs.some((at, index) => Math.abs(at - x) < half && Math.abs(pointAt(line, index).y - y) < HALF_HEIGHT)
  for (const { text, x, y } of names.toSorted((a, b) => a.rank - b.rank)) {
    if (text === "" || spots.length === MAX_NAMES || spots.some((spot) => spot.text === text)) continue
    const half = (text.length * LABEL_LETTER) / 2
    const free = [0, -40, 40, -72, 72].map((by): Spot => ({ text, x, y: y + by, half })).find(isFree)
    if (free !== undefined) spots.push(free)
  }
  return spots
}

const nameText = ({ text, x, y }: Spot) => {
  const written = (more: Html) =>
    html`<text x="${round(x)}" y="${
      round(y + SIZE / 3)
    }" font-family="DejaVu Sans" font-size="${SIZE}" font-weight="bold" text-anchor="middle" ${more}>${
      carried(text)
    }</text>`
  return html`${written(html`fill="none" stroke="#ffffff" stroke-width="6" stroke-linejoin="round"`)}${
    written(html`fill="#4a5058"`)
  }\n`
}

/** Draws vector tiles below a line. Nothing of them is drawn if one cannot be read. */
const drawVectorMap = (tiles: ReadonlyArray<PlacedTile>, line: Points): Html => {
  const paths = STYLES.map((): Array<string> => [])
  const names: Array<Name> = []
  let length = 0
  for (const tile of tiles) {
    const layers = layersOf(tile.bytes)
    for (const [name, layer] of Object.entries(layers)) {
      const styles = STYLES.flatMap((style, index) => style.layer === name ? [{ ...style, index }] : [])
      for (let at = 0; at < layer.length && length < MAX_PATH_LENGTH; at++) {
        const feature = layer.feature(at)
        if (name === "place") names.push(...nameOf(feature, tile))
        const fitting = styles.filter(({ classes }) =>
          classes.length === 0 || classes.includes(String(feature.properties["class"]))
        )
        if (fitting.length === 0) continue
        const path = ringsOf(feature, tile).flatMap((ring) => pathsOf(thinned(ring))).join("")
        length += path.length
        for (const { index } of fitting) paths[index]?.push(path)
      }
    }
  }
  const drawn = STYLES.flatMap(({ fill, stroke = "none", width = 0 }, index) => {
    const path = paths[index]?.join("") ?? ""
    return path === "" ? [] : html`${stroked(path, stroke, width, fill)}\n`
  })
  return html`${drawn}${placed(names, line).map(nameText)}`
}

/** Most sites show this size without cropping it. */
export const CARD = { width: 1200, height: 630 } as const

export interface CardTexts {
  readonly title: string
  readonly facts: ReadonlyArray<string>
  readonly site: string
  /** The site has this colour on a light ground. */
  readonly color: string
  /** The logo is a `data:` URL. */
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

export const CARD_GROUND = { width: CARD.width, height: CARD.height - BAND } as const

export const CARD_MAP = { x: 90, y: 60, width: CARD.width - 180, height: CARD_GROUND.height - 120 }

interface Text {
  readonly x: number
  readonly y: number
  readonly size: number
  readonly colour: string
  readonly anchor?: "start" | "end"
  readonly weight?: "normal" | "bold"
}

/** The first letter decides on the direction, by a first strong isolate (UAX 9). */
const written = (text: string, { anchor = "start", colour, size, weight = "normal", x, y }: Text): Html =>
  html`<text x="${x}" y="${y}" fill="${colour}" font-family="DejaVu Sans" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}">\u2068${
    carried(text)
  }\u2069</text>`

/** Letters of the font are this wide on average, in its size. */
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

/** PNG files begin with this byte; tiles are PNG or JPEG. */
const PNG = 0x89

const LOGO = { width: 180, height: 84 }

const mapOf = (tiles: ReadonlyArray<PlacedTile>, line: Points): Html =>
  tiles[0]?.type === "vector"
    ? drawVectorMap(tiles, line)
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
  const at = (index: number) => {
    const { x, y } = pointAt(ends, index)
    return { x: round(x), y: round(y) }
  }
  const stroke = (colour: string, width: number) => stroked(path, colour, width)
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
