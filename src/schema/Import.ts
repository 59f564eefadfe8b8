import { Schema } from "effect"
import { Duplicate } from "./Duplicate.ts"
import { ElevationFields } from "./Elevation.ts"
import { Bounds, ImportTrack, MAX_TRACKS } from "./ImportTrack.ts"
import { Metres, Seconds } from "./Measures.ts"
import { decimal, flag, knownQuery } from "./Page.ts"
import { Place } from "./Place.ts"
import { MAX_NAME, Route } from "./Route.ts"
import { trimmedText } from "./Text.ts"

export const MAX_FILES = 100
export const MAX_FILE_BYTES = 8 * 1024 * 1024
export const MAX_UNPACKED_BYTES = 2 * MAX_FILE_BYTES

export const FILE_FORMATS = ["gpx", "geojson", "tcx", "kml", "fit"] as const

const FileFormat = Schema.Literals(FILE_FORMATS)
export type FileFormat = typeof FileFormat.Type

const ImportWarning = Schema.Struct({
  code: Schema.Literals(["gap_joined", "positions_simplified", "dropped", "elevation_missing"]),
  message: Schema.String,
  count: Schema.Int.annotate({ description: "How many gaps, positions or things of that kind" })
}).annotate({ identifier: "ImportWarning" })
export type ImportWarning = typeof ImportWarning.Type

const Dropped = Schema.Struct({ what: Schema.String, why: Schema.String, count: Schema.Int })
export type Dropped = typeof Dropped.Type

export const ImportedRoute = Schema.Struct({ ...Route.fields, warnings: Schema.Array(ImportWarning) }).annotate({
  identifier: "ImportedRoute"
})

export const CreatedRoute = Schema.Struct({
  ...Route.fields,
  warnings: Schema.optionalKey(Schema.Array(ImportWarning)).annotate({ description: "With `elevation=true`" })
}).annotate({ identifier: "CreatedRoute" })

export const DryRun = Schema.Struct({
  format: FileFormat,
  tracks: Schema.Array(ImportTrack).annotate({ description: `The first ${MAX_TRACKS} tracks of the file` }),
  trackCount: Schema.Int.annotate({ description: "How many tracks the file has" }),
  route: Schema.optionalKey(Schema.Json),
  distance: Schema.optionalKey(Metres),
  duration: Schema.optionalKey(Seconds),
  bounds: Schema.optionalKey(Bounds),
  ...Place.fields,
  warnings: Schema.Array(ImportWarning),
  duplicates: Schema.Array(Duplicate).annotate({
    description: "Own routes with the same positions; without `duplicates=allow` an import would be 409"
  }),
  dropped: Schema.Array(Dropped)
}).annotate({
  identifier: "DryRun",
  description: "`route` and what follows from it is there where the file would become one route"
})

export const ImportQuery = knownQuery({
  dryRun: flag("`true` reports what an import would do, and stores nothing"),
  split: flag(`\`true\` makes a route of each track, all of them or none; at most ${MAX_TRACKS}`),
  join: flag("`true` makes one route of all tracks; the gaps between them do not count into its distance"),
  ...ElevationFields,
  track: Schema.optionalKey(decimal(0, 1_000_000, "The index of the track to import, 0 for the first")),
  duplicates: Schema.optionalKey(
    Schema.Literals(["refuse", "allow"]).annotate({
      description: "`allow` also imports what has the same positions as an own route, which is 409 otherwise"
    })
  ),
  name: Schema.optionalKey(
    trimmedText(1, MAX_NAME).annotate({ description: "The name of the route, in place of what the file says" })
  )
})
