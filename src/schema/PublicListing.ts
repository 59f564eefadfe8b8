import { Schema, SchemaGetter } from "effect"
import { BoundingBox, GeometryForm, isLatitude, isLongitude } from "./Geometry.ts"
import { Metres } from "./Measures.ts"
import { listQuery } from "./Page.ts"
import { Activity } from "./Preferences.ts"
import { MAX_DISTANCE } from "./Route.ts"
import { trimmedText } from "./Text.ts"

const Gate = Schema.Literals(["indexable", "public"]).annotate({
  description: "What clears the quality gate, newest-updated first (if absent); or all, newest-published first"
})

export const DEFAULT_FORM: Readonly<Record<typeof Gate.Type, GeometryForm>> = {
  indexable: "full",
  public: "simplified"
}

const DECIMAL = /^-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,15})?$/

const isViewport = ([west, south, east, north]: ReadonlyArray<number>) =>
  west !== undefined && south !== undefined && east !== undefined && north !== undefined
  && [west, east].every(isLongitude) && [south, north].every(isLatitude) && south <= north

const viewportOf = ([west = 0, south = 0, east = 0, north = 0]: ReadonlyArray<number>): BoundingBox => ({
  west,
  south,
  east,
  north
})

/** A `west` greater than `east` crosses the antimeridian. */
const Bbox = Schema.String.annotate({
  description: "A viewport that the route's overlaps: minLng,minLat,maxLng,maxLat in degrees",
  format: "bbox",
  examples: ["9.4,47.0,9.7,47.3"]
}).check(
  Schema.makeFilter((text) => {
    const parts = text.split(",")
    return (parts.length === 4 && parts.every((part) => DECIMAL.test(part)) && isViewport(parts.map(Number)))
      || "Expected minLng,minLat,maxLng,maxLat in degrees"
  })
).pipe(
  Schema.decodeTo(BoundingBox, {
    decode: SchemaGetter.transform((text) => viewportOf(text.split(",").map(Number))),
    encode: SchemaGetter.transform(({ east, north, south, west }) => [west, south, east, north].join(","))
  })
)

const MetresFromQuery = Schema.String.check(
  Schema.isPattern(/^(0|[1-9][0-9]{0,8})(\.[0-9]{1,20})?([Ee]-[0-9]{1,3})?$/, { expected: "a number of metres" })
).pipe(
  Schema.decodeTo(Metres.check(Schema.isBetween({ minimum: 0, maximum: MAX_DISTANCE })), {
    decode: SchemaGetter.transform(Number),
    encode: SchemaGetter.String()
  })
)

const isRange = ({ maxDistance, minDistance }: { readonly minDistance?: number; readonly maxDistance?: number }) =>
  minDistance === undefined || maxDistance === undefined || minDistance <= maxDistance

export const ListingQuery = listQuery({
  gate: Schema.optionalKey(Gate),
  bbox: Schema.optionalKey(Bbox),
  activity: Schema.optionalKey(Activity),
  placeCity: Schema.optionalKey(trimmedText(1, 255)),
  minDistance: Schema.optionalKey(MetresFromQuery),
  maxDistance: Schema.optionalKey(MetresFromQuery),
  geometry: Schema.optionalKey(GeometryForm)
}).check(
  Schema.makeFilter((query) => isRange(query) || { path: ["maxDistance"], issue: "Expected at least minDistance" })
)

export const Listing = Schema.Struct({
  gate: Gate,
  bbox: Schema.optionalKey(BoundingBox),
  activity: Schema.optionalKey(Activity),
  placeCity: Schema.optionalKey(Schema.String),
  minDistance: Schema.optionalKey(Metres),
  maxDistance: Schema.optionalKey(Metres)
})
export type Listing = typeof Listing.Type
