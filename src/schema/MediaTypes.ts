import type { FileFormat } from "./Import.ts"

const FILE_TYPES = {
  gpx: "application/gpx+xml",
  geojson: "application/geo+json",
  tcx: "application/vnd.garmin.tcx+xml",
  kml: "application/vnd.google-earth.kml+xml",
  fit: "application/vnd.ant.fit"
} as const satisfies Readonly<Record<FileFormat, string>>

/** Bodies have these media types. */
export const MEDIA_TYPES = {
  json: "application/json",
  ...FILE_TYPES,
  kmz: "application/vnd.google-earth.kmz",
  zip: "application/zip",
  windowsZip: "application/x-zip-compressed",
  gzip: "application/gzip",
  multipart: "multipart/form-data",
  form: "application/x-www-form-urlencoded",
  html: "text/html",
  svg: "image/svg+xml",
  png: "image/png",
  lines: "application/x-ndjson",
  bytes: "application/octet-stream",
  metrics: "text/plain; version=0.0.4; charset=utf-8"
} as const

/** Returns a `Content-Type` without its parameters; empty if absent (RFC 9110, 8.3.1). */
export const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType ?? "").split(";", 1).join("").trim().toLowerCase()
