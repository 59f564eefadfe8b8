import { MAX_FILE_BYTES, MAX_FILES, MAX_UNPACKED_BYTES } from "../../../schema/Import.ts"
import { DOWNLOADS_AN_ADDRESS } from "../../../schema/Limits.ts"
import { described, mebibytes, titled } from "./Described.ts"

const download = (format: string) =>
  described(
    `Download as ${format}`,
    "A route as a file, for anyone who may read it. Importing it again gives the same route. "
      + (["GPX", "TCX"].includes(format)
        ? "Cues are waypoints of the kind of the turn in GPX, course points in TCX. "
        : "")
      + "At most "
      + `${DOWNLOADS_AN_ADDRESS} downloads at once to one address; 429 or 503 with \`Retry-After\` beyond.`
  )

export const texts = {
  gpx: download("GPX"),
  geojson: download("GeoJSON"),
  tcx: download("TCX"),
  kml: download("KML"),
  fit: described(
    "Download as FIT",
    "A route as a FIT course, for anyone who may read it: positions to a centimetre, elevations to 20 cm, at most 254 "
      + "bytes of the name, neither tags nor description. Cues are course points, with the start of the instruction; an "
      + "import of it leaves them out. "
      + `At most ${DOWNLOADS_AN_ADDRESS} downloads at once to one address; 429 or 503 with \`Retry-After\` beyond.`
  ),
  import: described(
    "Import a file",
    "Makes a private route of a file: GPX (1.0 and 1.1), GeoJSON, TCX, KML or FIT, recognized by content type, "
      + "else by content; in UTF-8, UTF-16 or the encoding that its XML declaration or `charset` names. It may be "
      + "compressed with gzip (as `Content-Encoding`, or a file of it), and several files may come as a ZIP "
      + `archive (KMZ) or as \`multipart/form-data\`: at most ${MAX_FILES}, of ${mebibytes(MAX_FILE_BYTES)} each and `
      + `${mebibytes(MAX_UNPACKED_BYTES)} together unpacked, whose tracks are one list. `
      + "A route is named by `name`, else by its file, else by the name of the file "
      + "(`Content-Disposition`); `elevationGain` and `duration` are those of its elevations and times. Segments "
      + "of one track are joined; the gaps between them do not count into `distance`, and `warnings` names them, "
      + "as it names all that was left out. A file with several tracks (routes, courses, placemarks or features "
      + "with lines) needs `split=true`, which returns a list of routes, `track=<index>` or `join=true`: without "
      + "any of them it is 400 with the list of its tracks in `details.tracks`. A line that an own live route has already, "
      + "rounded to 1e-6 degrees, is 409 with `details.routeId`, unless `duplicates=allow`. `?dryRun=true` stores nothing and "
      + "returns that list, what would be stored, and what would be left out and why."
  ),
  group: titled("Route files", "Routes as files of other programs.")
}
