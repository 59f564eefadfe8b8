import { Schema, SchemaGetter, Struct } from "effect"
import { BoundingBox, GeometryForm, isLatitude, isLongitude } from "./Geometry.ts"
import { Instant, MAX_DISTANCE, Metres, upTo } from "./Measures.ts"
import { named } from "./Named.ts"
import { flag, listQuery } from "./Page.ts"
import { Activity } from "./Preferences.ts"
import { Visibility } from "./Resource.ts"
import { PLACE_WORDS, TagFilter } from "./Route.ts"
import { trimmedText } from "./Text.ts"

const MAX_SEARCH_LENGTH = 200

export const MAX_SEARCH_WORDS = 10

const SEARCH_RULE =
  `1 to ${MAX_SEARCH_WORDS} words, each the beginning of a word in the text; case and accents do not matter`

/** `search_words` keeps the same emoji, each a word. */
const WORDS = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*|[\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\u{1f000}-\u{1faff}]/gu

const isWords = (text: string) => {
  const words = text.match(WORDS)?.length ?? 0
  return words > 0 && words <= MAX_SEARCH_WORDS
}

/** Each word must be the beginning of a word of the text; letter case and accents do not matter. */
export const SearchText = trimmedText(1, MAX_SEARCH_LENGTH).annotate({
  description: SEARCH_RULE,
  examples: ["alp gravel"]
}).check(
  Schema.makeFilter((text) => isWords(text) || `Expected 1 to ${MAX_SEARCH_WORDS} words of letters, digits or emoji`)
)

/** A program may write any double, as `-0.14282226562500003` or `1e-7`. */
const DEGREES = /^-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,30})?([Ee]-[0-9]{1,3})?$/

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
    return (parts.length === 4 && parts.every((part) => DEGREES.test(part)) && isViewport(parts.map(Number)))
      || "Expected minLng,minLat,maxLng,maxLat in degrees"
  })
).pipe(
  Schema.decodeTo(BoundingBox, {
    decode: SchemaGetter.transform((text) => viewportOf(text.split(",").map(Number))),
    encode: SchemaGetter.transform(({ east, north, south, west }) => [west, south, east, north].join(","))
  })
)

const MetresFromQuery = Schema.String.check(
  Schema.isPattern(/^(0|[1-9][0-9]{0,8})(\.[0-9]{1,20})?([Ee]-[0-9]{1,3})?$/u, {
    expected: `a number of metres from 0 to ${MAX_DISTANCE}`
  })
).pipe(
  Schema.decodeTo(Metres.check(upTo(MAX_DISTANCE)), {
    decode: SchemaGetter.transform(Number),
    encode: SchemaGetter.String()
  })
)

interface Range {
  readonly minDistance?: number
  readonly maxDistance?: number
}

const isRange = Schema.makeFilter(({ maxDistance, minDistance }: Range) =>
  minDistance === undefined || maxDistance === undefined || minDistance <= maxDistance
  || { path: ["maxDistance"], issue: "Expected at least minDistance" }
)

const ROUTE_FILTERS = {
  q: Schema.optionalKey(SearchText),
  tag: Schema.optionalKey(TagFilter),
  bbox: Schema.optionalKey(Bbox),
  activity: Schema.optionalKey(Activity),
  placeCity: Schema.optionalKey(
    trimmedText(1, 255).annotate(PLACE_WORDS.city)
  ),
  minDistance: Schema.optionalKey(MetresFromQuery),
  maxDistance: Schema.optionalKey(MetresFromQuery)
}

const CountryCode = Schema.String.check(
  Schema.isPattern(/^[A-Za-z]{2}$/u, { expected: "2 letters (ISO 3166-1 alpha-2)" })
).annotate(PLACE_WORDS.countryCode)

export const RouteSort = Schema.Literals([
  "-createdAt",
  "createdAt",
  "-updatedAt",
  "name",
  "-distance",
  "distance",
  "relevance"
]).annotate({
  description: "`-` is descending; `-createdAt` if absent. `name` is by letters, then accents, then case (the root "
    + "order of Unicode). `relevance` needs `q`"
})
export type RouteSort = typeof RouteSort.Type

const isSortable = Schema.makeFilter(({ q, sort }: { readonly q?: string; readonly sort?: RouteSort }) =>
  sort !== "relevance" || q !== undefined || { path: ["sort"], issue: "Expected q with relevance" }
)

export const OwnRoutesQuery = listQuery({
  ...ROUTE_FILTERS,
  visibility: Schema.optionalKey(Visibility.annotate({ description: "Who may see the route" })),
  favourite: flag("`true` for favourites, `false` for the others"),
  placeCountryCode: Schema.optionalKey(CountryCode),
  updatedSince: Schema.optionalKey(Instant.annotate({ description: "Changed at this instant or later (RFC 3339)" })),
  recordedAfter: Schema.optionalKey(Instant.annotate({ description: "Recorded at this instant or later" })),
  recordedBefore: Schema.optionalKey(Instant.annotate({ description: "Recorded before this instant" })),
  sort: Schema.optionalKey(RouteSort),
  geometry: Schema.optionalKey(GeometryForm)
}).check(isRange, isSortable)

export type OwnRoutesFilter = Omit<typeof OwnRoutesQuery.Type, "cursor" | "geometry" | "limit" | "offset">

export const TagCount = Schema.Struct({
  tag: Schema.String.annotate({ description: "The tag" }),
  count: Schema.Int.annotate({ description: "How many of the caller's routes have it" })
}).annotate(named("TagCount", "A tag, and how many of the caller's routes have it.", { tag: "gravel", count: 12 }))
export type TagCount = typeof TagCount.Type

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
  ...Struct.map(ROUTE_FILTERS, Schema.toType)
})
export type Listing = typeof Listing.Type
