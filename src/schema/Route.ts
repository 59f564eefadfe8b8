import { Schema, SchemaTransformation, Struct } from "effect"
import { Coordinate, Polyline6, Polyline6Input, Positions, Segments } from "./Geometry.ts"
import { ClientId, RouteId, SHARE_TOKEN, ShareToken } from "./Ids.ts"
import { Maneuvers } from "./Maneuver.ts"
import {
  CreatedAt,
  MAX_DISTANCE,
  MAX_DURATION,
  Metres,
  RECORDED_AT,
  RecordedAt,
  Seconds,
  Timestamp,
  UpdatedAt,
  upTo
} from "./Measures.ts"
import { named } from "./Named.ts"
import { Activity, OpenValue, RequestedPreferences, ROUTING_PREFERENCES, RoutingPreferences } from "./Preferences.ts"
import { PageUrl, TRASHED, type Trashed, TRASHED_AT, Visibility } from "./Resource.ts"
import { SurfaceShares } from "./Routing.ts"
import { AllowDownload } from "./ShareLink.ts"
import { givenText, trimmedText } from "./Text.ts"
import { USER_SUMMARY, UserSummary } from "./User.ts"

/** Members and filters share these texts. */
export const PLACE_WORDS = {
  city: { description: "The city that the route starts in or near" },
  countryCode: { description: "The country that the route starts in (ISO 3166-1 alpha-2)" }
}

export const PlaceCity = Schema.String.annotate(PLACE_WORDS.city)

export const PlaceCountryCode = Schema.String.annotate(PLACE_WORDS.countryCode)

export const Place = Schema.Struct({
  placeCity: Schema.optionalKey(PlaceCity),
  placeRegion: Schema.optionalKey(
    Schema.String.annotate({ description: "The first-level region that the route starts in" })
  ),
  placeCountryCode: Schema.optionalKey(PlaceCountryCode)
})
export type Place = typeof Place.Type

export const MAX_TAG = 24

export const TAG_RULE = `1 to ${MAX_TAG} characters of a-z, 0-9 and "-"`

const TAG = new RegExp(`^[a-z0-9][a-z0-9-]{0,${MAX_TAG - 1}}$`, "u")

const GERMAN: Readonly<Record<string, string>> = { ä: "ae", ö: "oe", ü: "ue", ß: "ss" }

/** Suggests a tag for a text, without accents and signs. */
const suggested = (text: string): string =>
  text.replace(/[äöüß]/gu, (letter) => GERMAN[letter] ?? "").normalize("NFKD").replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/gu, "-").slice(0, MAX_TAG + 1).replace(/^-+|-+$/gu, "").slice(0, MAX_TAG)

const Tag = Schema.String.check(Schema.makeFilter((text) => {
  if (TAG.test(text)) return true
  const tag = suggested(text)
  return `Expected ${TAG_RULE}, beginning with a letter or a digit${tag === "" ? "" : `, such as "${tag}"`}`
}, { toJsonSchema: () => ({ pattern: TAG.source }) }))

const normaliseTag = (text: string): string => text.trim().toLowerCase().replace(/\s+/gu, "-")

const NormalisedTag = givenText({ pattern: `^[A-Za-z0-9][A-Za-z0-9 -]{0,${MAX_TAG - 1}}$` }).annotate({
  description: `${TAG_RULE} once it is in lower case, with white space as "-"`
}).pipe(
  Schema.decodeTo(Tag, SchemaTransformation.transform({ decode: normaliseTag, encode: (tag) => tag }))
)

export const MAX_TAGS = 10

export const MAX_SENT_TAGS = 100

const TAGS = "The owner's words for it"

/** Tags are normalised, without repetitions, in the order of their first occurrence. */
export const Tags = Schema.Array(NormalisedTag).check(
  Schema.isMaxLength(MAX_SENT_TAGS),
  // This filter is for the API document only: repeated tags do not count.
  Schema.makeFilter(() => true, { toJsonSchema: () => ({ allOf: [{ maxItems: MAX_TAGS }] }) })
).annotate({ description: TAGS }).pipe(
  Schema.decodeTo(
    Schema.Array(Tag).check(Schema.isMaxLength(MAX_TAGS)),
    // The Set is a native one: its hashes are seeded, those of Effect's structures are not.
    SchemaTransformation.transform({
      decode: (tags: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(tags)],
      encode: (tags) => tags
    })
  )
)

export const TagFilter = Schema.Array(NormalisedTag).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_TAGS))
  .annotate({
    description: "A tag that the route has; of several all"
  })

export const Provenance = Schema.Literals(["routing-engine", "legacy-provider", "gpx-import", "generation"]).annotate({
  description: "Where the route comes from"
})
export type Provenance = typeof Provenance.Type

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Distance = Metres.check(upTo(MAX_DISTANCE))

const Duration = Seconds.check(upTo(MAX_DURATION))

/** Larger measured gains are cut to this. */
export const MAX_ELEVATION_GAIN = 1_000_000

const Elevation = Metres.check(upTo(MAX_ELEVATION_GAIN))

export const MAX_NAME = 255

const WAYPOINT = { coord: [9.5209, 47.1415], type: "routed", name: "Start" } as const

export const Waypoint = Schema.Struct({
  coord: Coordinate.annotate({ description: "Where it is: longitude, latitude" }),
  type: nullable(OpenValue.annotate({ description: "Known: `routed`, `direct`" })),
  name: nullable(trimmedText(0, MAX_NAME)),
  timestamp: nullable(OpenValue.annotate({ description: "When, in the client's words; only the owner sees it" }))
}).annotate(named("Waypoint", "A point that the rider chose.", WAYPOINT))
export type Waypoint = typeof Waypoint.Type

const Name = trimmedText(1, MAX_NAME)
export const MAX_DESCRIPTION = 10_000
const Description = trimmedText(0, MAX_DESCRIPTION)
const Address = trimmedText(0, 255)
export const MAX_WAYPOINTS = 1000

const WAYPOINTS = "The points that the rider chose, in order"

const Waypoints = Schema.Array(Waypoint).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_WAYPOINTS)).annotate({
  description: WAYPOINTS
})

/** These members are stored as sent, each in a column of its name or null. Add a new one here and to `PLAIN`. */
const plain = {
  description: nullable(Description),
  activity: nullable(Activity),
  duration: nullable(Duration),
  elevationGain: nullable(Elevation),
  startAddress: nullable(Address),
  endAddress: nullable(Address),
  recordedAt: nullable(RecordedAt)
}

export const PLAIN = {
  description: Schema.String.annotate({ description: "A text of one's own" }),
  activity: Activity,
  duration: Seconds,
  elevationGain: Metres,
  startAddress: Schema.String.annotate({ description: "Where the route starts, in the client's words" }),
  endAddress: Schema.String.annotate({ description: "Where the route ends, in the client's words" }),
  recordedAt: Timestamp.annotate({ description: RECORDED_AT })
} satisfies Readonly<Record<keyof typeof plain, Schema.Top>>

const MAX_PROVIDER = 40
const PROVIDER = new RegExp(`^[a-z0-9.-]{1,${MAX_PROVIDER}}$`, "u")

const WEB = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^/\\\s]/u

const isWebAddress = (text: string) => {
  const url = URL.parse(text)
  return WEB.test(text) && url !== null && url.username === "" && url.password === ""
}

/** The values of one account are unique by provider and id: an import knows by them what it brought before. */
export const Source = Schema.Struct({
  provider: Schema.String.check(
    Schema.isPattern(PROVIDER, { expected: `1 to ${MAX_PROVIDER} characters of a-z, 0-9, "." and "-"` })
  ).annotate({ description: "The service that it was at, such as `strava`" }),
  externalId: trimmedText(1, 255).annotate({ description: "Its id there; the routes of an account have it once" }),
  url: nullable(
    trimmedText(1, 2048, { format: "uri", pattern: WEB.source }).check(
      Schema.makeFilter(isWebAddress, { expected: "an http or https URL" })
    ).annotate({ description: "Its page there, which the service never fetches" })
  )
}).annotate(named("RouteSource", "Where a route is from, for its owner.", {
  provider: "strava",
  externalId: "123456789",
  url: "https://www.strava.com/activities/123456789"
}))
export type Source = typeof Source.Type

/** The engine has nine surfaces. */
const MAX_SURFACES = 20

const clearable = {
  ...plain,
  geometry: nullable(Positions),
  polyline6: nullable(Polyline6Input),
  segments: nullable(Segments),
  distance: nullable(Distance),
  routingPreferences: nullable(RequestedPreferences),
  cues: nullable(
    Maneuvers.annotate({
      description:
        "Turns along the geometry, in the shape of a computed route's `maneuvers`; a new geometry without new cues "
        + "removes them"
    })
  ),
  surfaces: nullable(
    SurfaceShares.check(Schema.isMaxLength(MAX_SURFACES)).annotate({
      description:
        "How much of the line has each surface, as a computed route or a matched trace has it; a new geometry "
        + "without new surfaces removes them"
    })
  ),
  tags: nullable(Tags),
  source: Schema.optionalKey(Schema.NullOr(Source).annotate({ description: "Where the route is from" })),
  favourite: nullable(Schema.Boolean.annotate({ description: "The owner's mark" }))
}

export const ONE_GEOMETRY = "Expected either geometry or polyline6"

export const oneGeometry = Schema.makeFilter(
  ({ geometry, polyline6 }: { readonly geometry?: unknown; readonly polyline6?: unknown }) =>
    typeof polyline6 !== "string" || geometry === undefined || geometry === null
    || { path: ["polyline6"], issue: ONE_GEOMETRY },
  {
    // Generators make a class of `not`.
    toJsonSchema: () => ({
      if: { properties: { polyline6: { type: "null" } } },
      else: { properties: { geometry: { type: "null" } } }
    })
  }
)

const SEGMENTS_ALONE = "Expected geometry or polyline6 beside it: a line is sent with its segments"

/** A new line has no gaps unless `segments` come with it, so `segments` without a line are refused. */
const segmentsWithLine = Schema.makeFilter(
  ({ geometry, polyline6, segments }: {
    readonly geometry?: unknown
    readonly polyline6?: unknown
    readonly segments?: unknown
  }) =>
    segments === undefined || geometry !== undefined || polyline6 !== undefined
    || { path: ["segments"], issue: SEGMENTS_ALONE },
  { toJsonSchema: () => ({}) }
)

const NEW_ROUTE = {
  name: "Around Vaduz",
  activity: "cycle",
  visibility: "unlisted",
  tags: ["gravel"],
  waypoints: [WAYPOINT, { coord: [9.53, 47.1501], type: "routed" }],
  geometry: [[9.5209, 47.1415, 455], [9.5254, 47.144, 461], [9.53, 47.1501, 470]],
  duration: 360,
  routingPreferences: ROUTING_PREFERENCES
} as const

export const NewRoute = Schema.Struct({
  name: Name,
  waypoints: Waypoints,
  visibility: nullable(Visibility),
  provenance: nullable(Provenance),
  clientId: nullable(ClientId),
  ...clearable
}).check(oneGeometry).annotate(
  named("RouteInput", "A route to be stored. `null` is the same as leaving a member out.", NEW_ROUTE)
)
export type NewRoute = typeof NewRoute.Type

export const RoutePatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  waypoints: Schema.optionalKey(Waypoints),
  visibility: Schema.optionalKey(Visibility),
  provenance: Schema.optionalKey(Provenance),
  ...clearable
}).check(oneGeometry, segmentsWithLine).annotate(
  named("RoutePatch", "What to change of a route: an absent member stays as it is, `null` clears an optional one.", {
    visibility: "public",
    description: null
  })
)
export type RoutePatch = typeof RoutePatch.Type

export const RouteName = Schema.String.annotate({ description: "The name of the route" })

export const ROUTE = {
  id: RouteId.make(12),
  ...NEW_ROUTE,
  favourite: false,
  distance: 1177.4,
  placeCity: "Vaduz",
  placeRegion: "Vaduz",
  placeCountryCode: "LI",
  provenance: "routing-engine",
  shareToken: SHARE_TOKEN,
  user: USER_SUMMARY,
  createdAt: "2025-06-01T08:30:00.000Z",
  updatedAt: "2025-06-01T08:30:00.000Z",
  url: `https://routes.example.com/r/${SHARE_TOKEN}`
} as const

export const Route = Schema.Struct({
  id: RouteId,
  name: RouteName,
  ...Struct.map(PLAIN, Schema.optionalKey),
  visibility: Visibility,
  tags: Schema.Array(Schema.String).annotate({ description: TAGS }),
  favourite: Schema.Boolean.annotate({ description: "The owner's mark: `false` for other users" }),
  waypoints: Schema.Array(Waypoint).annotate({ description: WAYPOINTS }),
  geometry: Schema.optionalKey(Positions),
  polyline6: Schema.optionalKey(Polyline6),
  segments: Schema.optionalKey(Segments),
  cues: Schema.optionalKey(
    Maneuvers.annotate({ description: "Turns along the whole line: there with `geometry` `full` and `polyline6` only" })
  ),
  distance: Schema.optionalKey(Metres),
  surfaces: Schema.optionalKey(
    SurfaceShares.annotate({
      description: "How much of the line has each surface; not for others, where a privacy zone cuts the line"
    })
  ),
  ...Place.fields,
  source: Schema.optionalKey(Source),
  routingPreferences: Schema.NullOr(RoutingPreferences).annotate({
    description: "What the route asks of the routing engine"
  }),
  provenance: Provenance,
  shareToken: ShareToken.annotate({
    description:
      "By which anyone opens it while it is public or unlisted: 32 hex digits. For others than the owner who "
      + "opened the route by a link, the token of that link"
  }),
  allowDownload: AllowDownload,
  user: UserSummary,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
  url: PageUrl
}).annotate(named("Route", "A route.", ROUTE))
export type Route = typeof Route.Type

export const CollectionRoute = Schema.Struct({
  ...Route.fields,
  shareToken: Schema.optionalKey(
    ShareToken.annotate({ description: "Absent on an unlisted route that others see by a link to the collection" })
  )
}).annotate(named("CollectionRoute", "A route in a collection.", ROUTE))

export const DeletedRoute = Schema.Struct({ ...Route.fields, ...TRASHED }).annotate(
  named("DeletedRoute", "A route in the trash.", { ...ROUTE, ...TRASHED_AT })
)

type JsonText = string

/** A route whose long members are still text, so that no read parses them. */
export interface StoredRoute extends Omit<Route, "waypoints" | "geometry" | "polyline6" | "segments" | "cues" | "url"> {
  readonly waypoints: JsonText
  /** The line is in UTF-8 if it was read. */
  readonly geometry: JsonText | Uint8Array | undefined
  readonly polyline6: JsonText | undefined
  /** The indexes are into the line in the form that was read. */
  readonly segments: JsonText | undefined
  readonly cues: JsonText | undefined
  readonly version: number
  /** The revision of the owner's privacy zones is present if they cut a part off. */
  readonly cutRevision?: number
}

export type DeletedStoredRoute = StoredRoute & Trashed

export type StoredCollectionRoute =
  & Omit<StoredRoute, "shareToken">
  & Partial<Pick<StoredRoute, "shareToken">>
