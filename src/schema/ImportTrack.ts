import { Schema } from "effect"
import { Metres } from "./Measures.ts"
import { Place } from "./Place.ts"

/** Of a file, that are listed, split or joined. */
export const MAX_TRACKS = 100

export const Bounds = Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite, Schema.Finite]).annotate({
  description: "West, south, east and north in degrees; east is over 180 across the antimeridian"
})

export const ImportTrack = Schema.Struct({
  index: Schema.Int.annotate({ description: "What `track` takes: 0 for the first" }),
  name: Schema.String,
  file: Schema.optionalKey(Schema.String.annotate({ description: "The file that it is in, where there are several" })),
  positions: Schema.Int.annotate({ description: "How many positions it has" }),
  distance: Metres.annotate({ description: "Metres, without the gaps between its segments" }),
  bounds: Schema.optionalKey(Bounds),
  ...Place.fields
}).annotate({ identifier: "ImportTrack" })
