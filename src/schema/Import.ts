import { Schema } from "effect"
import { ElevationFields } from "./Elevation.ts"
import { ClientId, RouteId } from "./Ids.ts"
import { Metres, Seconds } from "./Measures.ts"
import { named } from "./Named.ts"
import { decimal, flag, knownQuery } from "./Page.ts"
import { MAX_NAME, Place, ROUTE, Route } from "./Route.ts"
import { trimmedText } from "./Text.ts"

export const Duplicate = Schema.Struct({
  index: Schema.Int.annotate({ description: "Which of the tracks of the file: 0 for the first, as in `tracks`" }),
  routeId: RouteId.annotate({ description: "The own route that has the same positions" })
}).annotate(named("Duplicate", "A route of a file that an own route repeats.", { index: 0, routeId: RouteId.make(42) }))
export type Duplicate = typeof Duplicate.Type

/** At most this many tracks of a file are listed, split or joined. */
export const MAX_TRACKS = 100

export const Bounds = Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite, Schema.Finite]).annotate({
  description: "West, south, east and north in degrees; east is over 180 across the antimeridian"
})

const IMPORT_TRACK = {
  index: 0,
  name: "Around Vaduz",
  positions: 3,
  distance: 1177.4,
  bounds: [9.5209, 47.1415, 9.53, 47.1501],
  placeCity: "Vaduz",
  placeRegion: "Vaduz",
  placeCountryCode: "LI"
} as const

export const ImportTrack = Schema.Struct({
  index: Schema.Int.annotate({ description: "What `track` takes: 0 for the first" }),
  name: Schema.String.annotate({ description: "The name of the track" }),
  file: Schema.optionalKey(Schema.String.annotate({ description: "The file that it is in, where there are several" })),
  positions: Schema.Int.annotate({ description: "How many positions it has" }),
  distance: Metres.annotate({ description: "Metres, without the gaps between its segments" }),
  bounds: Schema.optionalKey(Bounds),
  ...Place.fields
}).annotate(named("ImportTrack", "A track of a file.", IMPORT_TRACK))

export const MAX_FILES = 100

/** Files of an import have at most these bytes, packed or not: 8 hours at 1 Hz with sensors fit, and each export. */
export const MAX_UNPACKED_BYTES = 32 * 1024 * 1024

/** A day with a record a second has 3.5 MiB. */
export const MAX_FIT_BYTES = 4 * 1024 * 1024

export const FILE_FORMATS = ["gpx", "geojson", "tcx", "kml", "fit"] as const

const FileFormat = Schema.Literals(FILE_FORMATS).annotate({ description: "The format of the file" })
export type FileFormat = typeof FileFormat.Type

export const DEFAULT_GPX_FORM = "track"

export const GpxForm = Schema.Literals(["track", "route", "both"]).annotate({
  description:
    "`track` (if absent): the line, with waypoints and cues as `wpt`. `route`: the waypoints alone, as a plan for a "
    + "device that routes between them. `both`: the line, and the waypoints as a plan beside it"
})
export type GpxForm = typeof GpxForm.Type

export const GpxQuery = knownQuery({ as: Schema.optionalKey(GpxForm) })

const DROPPED = { code: "dropped", message: "extensions of points: a route has no place for it", count: 2 } as const

export const ImportWarning = Schema.Struct({
  code: Schema.Literals([
    "gap_joined",
    "positions_simplified",
    "dropped",
    "elevation_missing",
    "coordinates_swapped"
  ]).annotate({
    description: "A stable word for a program"
  }),
  message: Schema.String.annotate({ description: "For people" }),
  count: Schema.Int.annotate({ description: "How many gaps, positions or things of that kind" })
}).annotate(named("ImportWarning", "What was changed or left out.", DROPPED))
export type ImportWarning = typeof ImportWarning.Type

const Dropped = Schema.Struct({
  what: Schema.String.annotate({ description: "What is left out" }),
  why: Schema.String.annotate({ description: "Why it is left out" }),
  count: Schema.Int.annotate({ description: "How many there are" })
}).annotate(named("DroppedPart", "What an import leaves out.", {
  what: "extensions of points",
  why: "a route has no place for it",
  count: 2
}))
export type Dropped = typeof Dropped.Type

const WARNINGS = { description: "What was changed, or could not be done" }

const ImportedRoute = Schema.Struct({
  ...Route.fields,
  warnings: Schema.Array(ImportWarning).annotate(WARNINGS)
}).annotate(named("ImportedRoute", "A route that was imported, with what was changed of it.", {
  ...ROUTE,
  provenance: "gpx-import",
  warnings: [DROPPED]
}))

export const ImportedRoutes = Schema.Union([ImportedRoute, Schema.Array(ImportedRoute)]).annotate(
  named("ImportedRoutes", "The route that was made, or with `split` those that were.", {
    ...ROUTE,
    provenance: "gpx-import",
    warnings: [DROPPED]
  })
)

export const CreatedRoute = Schema.Struct({
  ...Route.fields,
  warnings: Schema.optionalKey(Schema.Array(ImportWarning)).annotate({
    description: "With `elevation=true`, and where longitude and latitude seem to be swapped"
  })
}).annotate(named("CreatedRoute", "The route that was made.", ROUTE))

/** `route` and the members below it are present if the file would become one route. */
export const DryRun = Schema.Struct({
  format: FileFormat,
  tracks: Schema.Array(ImportTrack).annotate({ description: `The first ${MAX_TRACKS} tracks of the file` }),
  trackCount: Schema.Int.annotate({ description: "How many tracks the file has" }),
  route: Schema.optionalKey(Schema.Json.annotate({ description: "What would be stored" })),
  distance: Schema.optionalKey(Metres),
  duration: Schema.optionalKey(Seconds),
  bounds: Schema.optionalKey(Bounds),
  ...Place.fields,
  warnings: Schema.Array(ImportWarning).annotate(WARNINGS),
  duplicates: Schema.Array(Duplicate).annotate({
    description: "Own routes with the same positions; without `duplicates=allow` an import would be 409"
  }),
  dropped: Schema.Array(Dropped).annotate({ description: "What an import leaves out" })
}).annotate(named("DryRun", "What an import would store, and what it would leave out.", {
  format: "gpx",
  tracks: [IMPORT_TRACK],
  trackCount: 1,
  route: { name: "Around Vaduz", waypoints: ROUTE.waypoints, geometry: ROUTE.geometry },
  distance: 1177.4,
  bounds: IMPORT_TRACK.bounds,
  placeCity: "Vaduz",
  placeRegion: "Vaduz",
  placeCountryCode: "LI",
  warnings: [DROPPED],
  duplicates: [{ index: 0, routeId: RouteId.make(42) }],
  dropped: [{ what: "extensions of points", why: "a route has no place for it", count: 2 }]
}))

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
  clientId: Schema.optionalKey(ClientId),
  name: Schema.optionalKey(
    trimmedText(1, MAX_NAME).annotate({ description: "The name of the route, in place of what the file says" })
  )
})
