/** The media types of bodies; those of route files by the names of their formats. */
export const MEDIA_TYPES = {
  json: "application/json",
  gpx: "application/gpx+xml",
  geojson: "application/geo+json",
  tcx: "application/vnd.garmin.tcx+xml",
  kml: "application/vnd.google-earth.kml+xml",
  fit: "application/vnd.ant.fit",
  kmz: "application/vnd.google-earth.kmz",
  zip: "application/zip",
  gzip: "application/gzip",
  multipart: "multipart/form-data",
  svg: "image/svg+xml",
  png: "image/png",
  bytes: "application/octet-stream"
} as const
