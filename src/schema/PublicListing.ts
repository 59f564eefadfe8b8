import { Schema } from "effect"
import { Activity } from "./Activity.ts"
import { BoundingBox, GeometryForm } from "./Geometry.ts"
import { Metres } from "./Measures.ts"
import { listQuery } from "./Page.ts"
import { isRange, ROUTE_FILTERS } from "./RouteSearch.ts"

const Gate = Schema.Literals(["indexable", "public"]).annotate({
  description: "What clears the quality gate, newest-updated first (if absent); or all, newest-published first"
})

export const DEFAULT_FORM: Readonly<Record<typeof Gate.Type, GeometryForm>> = {
  indexable: "full",
  public: "simplified"
}

export const ListingQuery = listQuery({
  gate: Schema.optionalKey(Gate),
  ...ROUTE_FILTERS,
  geometry: Schema.optionalKey(GeometryForm)
}).check(isRange)

export const Listing = Schema.Struct({
  gate: Gate,
  q: Schema.optionalKey(Schema.String),
  tag: Schema.optionalKey(Schema.Array(Schema.String)),
  bbox: Schema.optionalKey(BoundingBox),
  activity: Schema.optionalKey(Activity),
  placeCity: Schema.optionalKey(Schema.String),
  minDistance: Schema.optionalKey(Metres),
  maxDistance: Schema.optionalKey(Metres)
})
export type Listing = typeof Listing.Type
