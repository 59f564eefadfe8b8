import { Schema } from "effect"
import { decimal, flag, knownQuery } from "./Page.ts"
import type { Provenance } from "./Route.ts"

/** Sides are in pixels. */
export const PICTURE_SIDE = { minimum: 64, maximum: 1200 } as const

export const DEFAULT_PICTURE = { width: 800, height: 500, theme: "light", profile: false } as const

const side = (name: keyof typeof DEFAULT_PICTURE & ("width" | "height")) =>
  Schema.optionalKey(
    decimal(PICTURE_SIDE.minimum, PICTURE_SIDE.maximum, `In pixels; ${DEFAULT_PICTURE[name]} if absent`)
  )

export const PictureTheme = Schema.Literals(["light", "dark"])

export const PictureQuery = knownQuery({
  width: side("width"),
  height: side("height"),
  theme: Schema.optionalKey(
    PictureTheme.annotate({ description: `The colours; \`${DEFAULT_PICTURE.theme}\` if absent` })
  ),
  profile: flag("`true` draws the elevation profile below the line, where the positions have elevations")
})

export interface PictureOptions {
  readonly width: number
  readonly height: number
  readonly theme: typeof PictureTheme.Type
  readonly profile: boolean
}

export const pictureOptions = ({ profile, ...given }: typeof PictureQuery.Type): PictureOptions => ({
  ...DEFAULT_PICTURE,
  ...given,
  profile: profile === "true"
})

export type PictureFormat = "svg" | "png"

/** ODbL 1.0, 4.3 requires this text beside lines that follow the roads of OpenStreetMap. */
export const ROAD_DATA_ATTRIBUTION = "© OpenStreetMap contributors"

const FROM_ROADS: ReadonlySet<Provenance> = new Set(["routing-engine", "generation"])

export const attributionOf = (provenance: Provenance): string | undefined =>
  FROM_ROADS.has(provenance) ? ROAD_DATA_ATTRIBUTION : undefined
