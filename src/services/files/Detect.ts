import type { FileFormat } from "../../schema/Import.ts"
import type { TextFormat } from "./Document.ts"

/** The media type that a file of each format is sent as. */
export const CONTENT_TYPES: Record<FileFormat, string> = {
  gpx: "application/gpx+xml",
  geojson: "application/geo+json",
  tcx: "application/vnd.garmin.tcx+xml",
  kml: "application/vnd.google-earth.kml+xml",
  fit: "application/vnd.ant.fit"
}

const FORMATS: ReadonlyMap<string, TextFormat> = new Map([
  [CONTENT_TYPES.gpx, "gpx"],
  [CONTENT_TYPES.geojson, "geojson"],
  [CONTENT_TYPES.tcx, "tcx"],
  [CONTENT_TYPES.kml, "kml"]
])

/** The media types of what a file may be packed in, and of what is no text. */
const ARCHIVES = [
  "application/gzip",
  "application/x-gzip",
  "application/zip",
  "application/x-zip-compressed",
  "application/vnd.google-earth.kmz",
  "multipart/form-data",
  // Its first bytes tell it.
  CONTENT_TYPES.fit,
  "application/fit",
  "application/x-fit"
]

/** Media types that say nothing of the format, or too little. */
const UNSPECIFIC = new Set([
  "",
  "application/xml",
  "text/xml",
  "application/json",
  "application/octet-stream",
  "text/plain",
  ...ARCHIVES
])

const ROOTS: ReadonlyMap<string, TextFormat> = new Map([
  ["gpx", "gpx"],
  ["TrainingCenterDatabase", "tcx"],
  ["kml", "kml"]
])

/** How far into a file its root element is looked for. */
const PROLOG_LENGTH = 65_536

const ROOT = /<(?:[\w.-]+:)?(gpx|kml|TrainingCenterDatabase)[\s/>]/

const formatOfContent = (text: string): TextFormat | undefined => {
  const start = text.slice(0, PROLOG_LENGTH).replace(/^\uFEFF/, "").trimStart()
  if (start.startsWith("{")) return "geojson"
  return start.startsWith("<") ? ROOTS.get(ROOT.exec(start)?.[1] ?? "") : undefined
}

/** The format that a media type names or, where that is unspecific or missing, the one that the text looks like. */
export const detectFormat = (contentType: string | undefined, text: string): TextFormat | undefined => {
  const [essence = ""] = (contentType ?? "").toLowerCase().split(";")
  const mediaType = essence.trim()
  return UNSPECIFIC.has(mediaType) ? formatOfContent(text) : FORMATS.get(mediaType)
}
