import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import type { TextFormat } from "./draft/Document.ts"

const FORMATS: ReadonlyMap<string, TextFormat> = new Map<string, TextFormat>([
  [MEDIA_TYPES.gpx, "gpx"],
  [MEDIA_TYPES.geojson, "geojson"],
  [MEDIA_TYPES.tcx, "tcx"],
  [MEDIA_TYPES.kml, "kml"]
])

const ARCHIVES = [
  MEDIA_TYPES.gzip,
  "application/x-gzip",
  MEDIA_TYPES.zip,
  MEDIA_TYPES.windowsZip,
  MEDIA_TYPES.kmz,
  MEDIA_TYPES.multipart,
  MEDIA_TYPES.fit,
  "application/fit",
  "application/x-fit"
]

const UNSPECIFIC = new Set<string>([
  "",
  "application/xml",
  "text/xml",
  MEDIA_TYPES.json,
  MEDIA_TYPES.bytes,
  "text/plain",
  ...ARCHIVES
])

const ROOTS: ReadonlyMap<string, TextFormat> = new Map([
  ["gpx", "gpx"],
  ["TrainingCenterDatabase", "tcx"],
  ["kml", "kml"]
])

const PROLOG_LENGTH = 65_536

const ROOT = /<(?:[\w.-]+:)?(gpx|kml|TrainingCenterDatabase)[\s/>]/

const formatOfContent = (text: string): TextFormat | undefined => {
  const start = text.slice(0, PROLOG_LENGTH).replace(/^\uFEFF/, "").trimStart()
  if (start.startsWith("{")) return "geojson"
  return start.startsWith("<") ? ROOTS.get(ROOT.exec(start)?.[1] ?? "") : undefined
}

export const detectFormat = (contentType: string | undefined, text: string): TextFormat | undefined => {
  const mediaType = mediaTypeOf(contentType)
  return UNSPECIFIC.has(mediaType) ? formatOfContent(text) : FORMATS.get(mediaType)
}
