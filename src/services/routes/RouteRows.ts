import { Option, Schema, Struct } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { RoutingPreferences } from "../../schema/Preferences.ts"
import { PLAIN, type StoredRoute } from "../../schema/Route.ts"
import { SurfaceShares } from "../../schema/Routing.ts"
import { columnsOf } from "../db/Tables.ts"
import type { Pseudonyms } from "../identity/Names.ts"
import { ownerColumns, OwnerFields, toUserSummary } from "../identity/Users.ts"
import { RouteRecord } from "./RouteRow.ts"
import { readWaypoints, waypointText } from "./RouteText.ts"

export type Source = (column: string) => string

const NO_TEXT = "NULL::text"

const NO_BYTES = "NULL::varchar"

const GEOMETRY = { full: "geometry", simplified: "simplified", none: undefined, polyline6: undefined }

const SEGMENTS = { full: "segments", simplified: "simplified_segments", none: undefined, polyline6: "segments" }

/**
 * The geometry is `varchar`, which is read as the UTF-8 that a response has (`ColumnTypes.ts`): as text it would be decoded and
 * encoded again, and its characters would fill V8's heap. Indexes of cues are into the full line.
 */
const lineColumns = (form: GeometryForm, source: Source): string => {
  const geometry = GEOMETRY[form]
  const segments = SEGMENTS[form]
  return `${geometry === undefined ? NO_BYTES : `(${source(geometry)})::varchar`} AS geometry, `
    + `${form === "polyline6" ? `to_json(${source("polyline6")})::text` : NO_TEXT} AS polyline6, `
    + `${segments === undefined ? NO_TEXT : source(segments)} AS segments, `
    + `${form === "full" || form === "polyline6" ? source("cues") : NO_TEXT} AS cues`
}

// The driver cannot decode an array of arrays, and would fail all rows of the statement.
const TAGS = "CASE WHEN array_ndims(r.tags) > 1 THEN NULL ELSE r.tags END AS tags"

const StoredColumns = RouteRecord.select.mapFields(
  Struct.omit(["userId", "tags", "geometry", "polyline6", "segments", "cues"])
)

const OpenColumns = StoredColumns.mapFields(
  Struct.omit([
    "waypoints",
    "distance",
    "duration",
    "elevationGain",
    "startAddress",
    "endAddress",
    "placeCity",
    "surfaces"
  ])
)

export const OWNER_COLUMNS = `${ownerColumns}, u.zones_revision AS "zonesRevision"`

const SHARED = `${TAGS}, ${OWNER_COLUMNS}`

export const OWN: Source = (column) => `r.${column}`

export const byForm = <A>(make: (form: GeometryForm) => A): Readonly<Record<GeometryForm, A>> => ({
  full: make("full"),
  simplified: make("simplified"),
  polyline6: make("polyline6"),
  none: make("none")
})

const ROUTE_COLUMNS = byForm((form) => `${columnsOf(StoredColumns, "r")}, ${SHARED}, ${lineColumns(form, OWN)}`)

/** Selects from `routes r JOIN users u` for the owner, with the polyline in the requested form only. */
export const routeColumns = (form: GeometryForm): string => ROUTE_COLUMNS[form]

export const SEEN: Source = (column) => `CASE WHEN s.is_open THEN r.${column} ELSE v.${column} END`

export const SEEN_CITY = `${SEEN("place_city")} AS "placeCity"`

export const SEEN_DISTANCE = `${SEEN("distance")} AS distance`

const SEEN_COLUMNS = [
  columnsOf(OpenColumns, "r"),
  SEEN_CITY,
  SEEN_DISTANCE,
  `${SEEN("duration")} AS duration`,
  `${SEEN("elevation_gain")} AS "elevationGain"`,
  `${SEEN("start_address")} AS "startAddress"`,
  `${SEEN("end_address")} AS "endAddress"`,
  "CASE WHEN s.is_open THEN r.waypoints ELSE coalesce(v.waypoints, '[]') END AS waypoints",
  "CASE WHEN s.is_open THEN r.surfaces END AS surfaces",
  SHARED,
  `CASE WHEN NOT s.is_open THEN v.zones_revision END AS "cutRevision"`,
  `NOT s.is_open AND v.route_id IS NULL AS "isDue"`
].join(", ")

const SEEN_BY_FORM = byForm((form) => `${SEEN_COLUMNS}, ${lineColumns(form, SEEN)}`)

/**
 * Selects for a viewer from `routes r JOIN users u` and `asSeenBy`. If the owner has zones and the view is not made yet
 * (`isDue`), columns that it may hide are missing.
 */
export const seenColumns = (form: GeometryForm): string => SEEN_BY_FORM[form]

/** A line of more bytes is read by itself, so that a statement for several routes does not return many of them. */
const LONG = 256 * 1024

const SHORT: Source = (column) => `CASE WHEN octet_length(${SEEN(column)}) <= ${LONG} THEN ${SEEN(column)} END`

const isLong = (form: GeometryForm) => {
  const columns = [GEOMETRY[form] ?? "polyline6", "cues"].map((column) => `octet_length(${SEEN(column)})`)
  return `coalesce(greatest(${columns.join(", ")}) > ${LONG}, false) AS "isLong"`
}

const SHORT_BY_FORM = byForm((form) => `${SEEN_COLUMNS}, ${lineColumns(form, SHORT)}, ${isLong(form)}`)

/** Selects as `seenColumns` does, without long lines (`isLong`). */
export const shortSeenColumns = (form: GeometryForm): string => SHORT_BY_FORM[form]

/** Increase it when `cutRoute` cuts the same route in another way, so that all views are made again. */
export const CUT_VERSION = 1

/** The condition that `route_views v` is of the present `routes r` and `users u`, and cut by this version. */
export const IS_CURRENT = `v.route_version = r.version AND v.zones_revision = u.zones_revision
  AND v.place_version = r.place_version AND v.cut_version = ${CUT_VERSION}`

/** Selects the metres of all live routes of `users u`, who has zones, as far as others see them. */
export const SEEN_TOTAL_DISTANCE = `
  SELECT round(coalesce(sum(CASE WHEN v.is_whole THEN r.distance ELSE v.distance END), 0)::numeric, 2)::float8
  FROM routes r JOIN route_views v ON v.route_id = r.id AND ${IS_CURRENT}
  WHERE r.user_id = u.id AND r.deleted_at IS NULL`

/** Joins the row that a viewer sees in place of a route: all of it, or its view. */
export const asSeenBy = (sql: SqlClient.SqlClient, viewer: number | Statement.Fragment) =>
  sql`
    LEFT JOIN route_views v ON v.route_id = r.id AND ${sql.literal(IS_CURRENT)}
    CROSS JOIN LATERAL (
      SELECT u.zones_revision IS NULL OR u.id = ${viewer} OR v.is_whole IS TRUE AS is_open
    ) s`

export const OwnerColumns = { ...OwnerFields, zonesRevision: Schema.NullOr(Schema.Int) }

export const RouteRow = Schema.Struct({
  ...RouteRecord.select.fields,
  /** A `Uint8Array` (`lineColumns`). Effect decodes a row that has a class column by column (decision 0015). */
  geometry: Schema.NullOr(Schema.ObjectKeyword),
  ...OwnerColumns
})
export type RouteRow = typeof RouteRow.Type

const present = <A extends object, K extends keyof A>(record: A, keys: ReadonlyArray<K>) => {
  const result: { [P in K]?: NonNullable<A[P]> } = {}
  for (const key of keys) {
    const value = record[key]
    if (value !== null && value !== undefined) result[key] = value
  }
  return result
}

const OPTIONAL = [...Struct.keys(PLAIN), "distance", "placeCity", "placeRegion", "placeCountryCode"] as const

const decodePreferences = Schema.decodeUnknownOption(Schema.fromJsonString(RoutingPreferences))

/** A route whose preferences cannot be read is shown without them. */
const preferencesOf = (json: string | null) => json === null ? null : Option.getOrNull(decodePreferences(json))

const decodeSurfaces = Schema.decodeUnknownOption(Schema.fromJsonString(SurfaceShares))

const surfacesOf = (json: string | null) => {
  const surfaces = json === null ? undefined : Option.getOrUndefined(decodeSurfaces(json))
  return surfaces === undefined ? {} : { surfaces }
}

const sourceOf = (
  { sourceExternalId, sourceProvider, sourceUrl }: Pick<RouteRow, `source${string}` & keyof RouteRow>
) =>
  sourceProvider === null || sourceExternalId === null ? {} : {
    source: {
      provider: sourceProvider,
      externalId: sourceExternalId,
      ...(sourceUrl === null ? {} : { url: sourceUrl })
    }
  }

export type ShownRow = Omit<RouteRow, "geometry"> & { readonly geometry: RouteRow["geometry"] | string }

const geometryOf = ({ geometry }: ShownRow) =>
  typeof geometry === "string" || geometry instanceof Uint8Array ? geometry : undefined

export const toStoredRoute = (row: ShownRow, pseudonyms: Pseudonyms["Service"]): StoredRoute => ({
  id: row.id,
  name: row.name,
  visibility: row.visibility,
  tags: row.tags,
  favourite: row.favourite,
  ...present(row, OPTIONAL),
  ...sourceOf(row),
  routingPreferences: preferencesOf(row.routingPreferences),
  ...surfacesOf(row.surfaces),
  provenance: row.provenance,
  shareToken: row.shareToken,
  user: toUserSummary(row, pseudonyms),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  waypoints: row.waypoints,
  geometry: geometryOf(row),
  polyline6: row.polyline6 ?? undefined,
  segments: row.segments ?? undefined,
  cues: row.cues ?? undefined,
  version: row.version
})

const withoutTimes = (waypoints: string): string =>
  waypoints.includes("\"timestamp\"")
    ? waypointText(readWaypoints(waypoints).map((waypoint) => Struct.omit(waypoint, ["timestamp"])))
    : waypoints

/** A route without what is private to its owner. The times of waypoints say when it was recorded. */
export const forOthers = <R extends Pick<StoredRoute, "favourite" | "recordedAt" | "source" | "waypoints">>(
  route: R
) => ({
  ...Struct.omit(route, ["recordedAt", "source"]),
  waypoints: withoutTimes(route.waypoints),
  favourite: false
})
