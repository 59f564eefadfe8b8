import { VectorTile, type VectorTileFeature } from "@mapbox/vector-tile"
import { gunzipSync } from "node:zlib"
import { PbfReader } from "pbf"
import { carried } from "../files/Xml.ts"
import { type Html, html } from "../operations/Html.ts"
import type { PlacedTile } from "./MapStyle.ts"
import { pathsOf, type Points, round, thinned } from "./Shapes.ts"

/** Tiles in the OpenMapTiles schema are drawn in this order, from the ground up. The edge of roads is below all roads. */
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

/** Paler than the line of a route (`COLOURS`), which is above them. */
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

/** The larger a place, the earlier it has its name. */
const PLACES = ["city", "town", "village", "suburb", "hamlet"]

/** Bounds the work for any tile. */
const MAX_PATH_LENGTH = 4_000_000

const MAX_TILE_BYTES = 4 * 1024 * 1024

const MAX_NAMES = 10

const layersOf = (bytes: Uint8Array) => {
  // Some servers send what is compressed to every client.
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
    : [{ text: String(latin ?? name ?? ""), rank: 100 * place + Number(rank ?? 0), x: at.xs[0] ?? 0, y: at.ys[0] ?? 0 }]
}

const SIZE = 24

const HALF_HEIGHT = 18

/** The average width of a bold letter. */
const LETTER = 0.68 * SIZE

interface Spot {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly half: number
}

/** Each name has its place, or one above or below it, where it covers neither the line nor a name before it. */
const placed = (names: ReadonlyArray<Name>, line: Points, width: number, height: number): ReadonlyArray<Spot> => {
  const spots: Array<Spot> = []
  const isFree = ({ half, x, y }: Spot) =>
    x > half && x < width - half && y > HALF_HEIGHT && y < height - HALF_HEIGHT
    && !spots.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < 2 * HALF_HEIGHT)
    && !line.xs.some((at, index) => Math.abs(at - x) < half && Math.abs((line.ys[index] ?? 0) - y) < HALF_HEIGHT)
  for (const { text, x, y } of names.toSorted((a, b) => a.rank - b.rank)) {
    if (text === "" || spots.length === MAX_NAMES || spots.some((spot) => spot.text === text)) continue
    const half = (text.length * LETTER) / 2
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
export const drawVectorMap = (tiles: ReadonlyArray<PlacedTile>, line: Points, width: number, height: number): Html => {
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
  return html`${
    STYLES.flatMap(({ fill = "none", stroke = "none", width = 0 }, index) =>
      paths[index]?.length === 0
        ? []
        : html`<path d="${
          paths[index]?.join("")
        }" fill="${fill}" stroke="${stroke}" stroke-width="${width}" stroke-linejoin="round" stroke-linecap="round"/>\n`
    )
  }${placed(names, line, width, height).map(nameText)}`
}
