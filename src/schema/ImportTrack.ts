import { Schema } from "effect"
import { Metres } from "./Measures.ts"
import { Place } from "./Place.ts"

/** Of a file, that are listed, split or joined. */
export const MAX_TRACKS = 100

export const Bounds = Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite, Schema.Finite]).annotate({
  description: "West, south, east and north in degrees; east is over 180 across the antimeridian"
})

/** The track of examples. */
export const IMPORT_TRACK = {
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
}).annotate({ identifier: "ImportTrack", description: "A track of a file.", examples: [IMPORT_TRACK] })
