import { Result } from "effect"
import { createRequire } from "node:module"
import type { PictureOptions } from "../../schema/Picture.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { positionsOf, readSegments } from "../geometry/MeasuredPolyline.ts"
import { readWaypoints } from "../routes/RouteText.ts"
import { type CardTexts, drawCard } from "./Card.ts"
import { drawPicture } from "./Drawing.ts"

export interface PictureOrder {
  readonly name: string
  readonly geometry: string
  readonly segments?: string | undefined
  readonly waypoints: string
  readonly attribution: string | undefined
  readonly options: PictureOptions
}

const draw = ({ attribution, geometry, name, options, segments = "[]", waypoints }: PictureOrder): string =>
  drawPicture({
    name,
    attribution,
    positions: positionsOf(geometry),
    segments: readSegments(segments),
    waypoints: readWaypoints(waypoints).map(({ coord }) => coord)
  }, options)

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
  // Loaded here, so that only threads that need the binary have it.
  const { Resvg } = await import("@resvg/resvg-js")
  return new Uint8Array(new Resvg(svg, { font: FONT, logLevel: "off" }).render().asPng())
}

export const drawPng = new HeavyJob<PictureOrder, Uint8Array>(import.meta.url, {
  name: "draw PNG",
  share,
  run: (order) => rendered(draw(order))
})

export interface CardOrder extends CardTexts {
  readonly geometry: string
  readonly segments: string
  readonly waypoints: string
}

interface CardPng {
  readonly bytes: Uint8Array
  /** False without tiles, and where they cannot be read. */
  readonly hasMap: boolean
}

export const drawCardPng = new HeavyJob<CardOrder, CardPng>(import.meta.url, {
  name: "draw card",
  share,
  run: async ({ geometry, segments, waypoints, ...texts }) => {
    const subject = {
      ...texts,
      positions: positionsOf(geometry),
      segments: readSegments(segments),
      waypoints: readWaypoints(waypoints).map(({ coord }) => coord)
    }
    const drawn = Result.try(() => drawCard(subject))
    const svg = Result.getOrElse(drawn, () => drawCard({ ...subject, tiles: [] }))
    return { bytes: await rendered(svg), hasMap: Result.isSuccess(drawn) && subject.tiles.length > 0 }
  }
})
