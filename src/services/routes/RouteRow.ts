import { Effect, Option, Record, Schema, String, Struct } from "effect"
import { Model } from "effect/schema"
import type { SqlClient, Statement } from "effect/sql"
import type { GeometryForm, Position } from "../../schema/Geometry.ts"
import { RouteId, ShareToken, UserId } from "../../schema/Ids.ts"
import { RoutingPreferences } from "../../schema/Preferences.ts"
import { Visibility } from "../../schema/Resource.ts"
import {
  type NewRoute,
  type Place,
  PLAIN,
  Provenance,
  type RoutePatch,
  type StoredRoute,
  type Waypoint
} from "../../schema/Route.ts"
import { SurfaceShares } from "../../schema/Routing.ts"
import { columnsOf, Instant, InstantOnce, readOnly, tableOf, writtenOnce } from "../db/Tables.ts"
import { CueBeyondLine } from "../DomainErrors.ts"
import { boxAround, type MeasuredPolyline, measurePositions } from "../geometry/MeasuredPolyline.ts"
import { PLACES_VERSION } from "../geometry/Places.ts"
import type { Pseudonyms } from "../identity/Names.ts"
import { ownerColumns, OwnerFields, toUserSummary } from "../identity/Users.ts"
import { cueText, readWaypoints, waypointText } from "./RouteText.ts"

const Text = Schema.NullOr(Schema.String)

/** Reads do not select these columns by name. */
const written = <S extends Schema.Top>(column: S) => Model.Field({ insert: column, update: column })

export class RouteRecord extends Model.Class<RouteRecord>("RouteRecord")({
  id: readOnly(RouteId),
  userId: writtenOnce(UserId),
  name: Schema.String,
  ...Struct.map(PLAIN, Schema.NullOr),
  visibility: Visibility,
  tags: Schema.Array(Schema.String),
  favourite: Schema.Boolean,
  waypoints: Schema.String,
  geometry: Text,
  simplified: written(Text),
  polyline6: Text,
  segments: Text,
  simplifiedSegments: written(Text),
  positionCount: written(Schema.Int),
  cues: Text,
  bounds: written(Text),
  distance: Schema.NullOr(Schema.Finite),
  placeCity: Text,
  placeRegion: Text,
  placeCountryCode: Text,
  placeVersion: written(Schema.Int),
  /** This column and the next are JSON, which `toStoredRoute` reads. */
  routingPreferences: Text,
  surfaces: Text,
  provenance: Provenance,
  shareToken: writtenOnce(ShareToken),
  importedFrom: Model.Field({ insert: Schema.NullOr(ShareToken) }),
  clientId: Model.Field({ insert: Schema.NullOr(Schema.String) }),
  clientDigest: Model.Field({ insert: Schema.NullOr(Schema.String) }),
  sourceProvider: Text,
  sourceExternalId: Text,
  sourceUrl: Text,
  publishedAt: Model.Field({ insert: Schema.NullOr(Schema.Date) }),
  createdAt: InstantOnce,
  updatedAt: Instant,
  deletedAt: Model.Field({ update: Schema.NullOr(Schema.Date) }),
  version: readOnly(Schema.Int)
}) {}

export const routesTable = tableOf("routes", RouteRecord)

export const ChangedRouteRow = Schema.toType(RouteRecord.update.mapFields(Struct.map(Schema.optional)))
type RouteChanges = typeof ChangedRouteRow.Type

type Geometry = ReadonlyArray<Position> | MeasuredPolyline | null | undefined

export type RouteDraft = Omit<NewRoute, "geometry" | "polyline6" | "segments"> & { readonly geometry?: Geometry }

export type RouteChange = Omit<RoutePatch, "geometry" | "polyline6" | "segments"> & { readonly geometry?: Geometry }

export type Line = MeasuredPolyline | null | undefined

const isMeasured = (geometry: Geometry): geometry is MeasuredPolyline =>
  geometry !== null && geometry !== undefined && "json" in geometry

export const lineOf = (geometry: Geometry): Line =>
  isMeasured(geometry) ? geometry : geometry && measurePositions(geometry)

export const startOf = (line: Line, waypoints: ReadonlyArray<Pick<Waypoint, "coord">>): Position =>
  line?.start ?? waypoints[0]?.coord ?? [0, 0]

export const cueBeyond = (cues: RouteDraft["cues"], positions: number): number | undefined => {
  const index = (cues ?? []).findIndex(({ begin_shape_index }) => begin_shape_index >= positions)
  return index === -1 ? undefined : index
}

export const requireOnLine = (cues: RouteDraft["cues"], positions: number) => {
  const index = cueBeyond(cues, positions)
  return index === undefined ? Effect.void : Effect.fail(new CueBeyondLine({ index, positions }))
}

export const requireOwnLine = ({ cues, geometry }: Pick<RouteChange, "cues" | "geometry">) =>
  requireOnLine(cues, lineOf(geometry)?.positionCount ?? 0)

export const boxOf = (line: Line, waypoints: ReadonlyArray<Pick<Waypoint, "coord">>): string | null =>
  line?.box ?? boxAround(waypoints.map(({ coord }) => coord))

/** Every form that a response may need is stored, so that no read converts. */
const lineValues = (line: MeasuredPolyline | null) => ({
  geometry: line?.json ?? null,
  simplified: line?.simplified ?? null,
  polyline6: line?.polyline6 ?? null,
  segments: line?.segments ?? null,
  simplifiedSegments: line?.simplifiedSegments ?? null,
  positionCount: line?.positionCount ?? 0
})

const NO_VALUES = Record.map(PLAIN, () => null)

const withoutEmpty = <A extends object>(members: A): { readonly [K in keyof A]: A[K] | null } => {
  const result: { [K in keyof A]: A[K] | null } = { ...members }
  for (const key in members) if (members[key] === "") result[key] = null
  return result
}

const plainValues = (route: Pick<RoutePatch, keyof typeof PLAIN>) =>
  withoutEmpty(Struct.pick(route, Struct.keys(PLAIN)))

const sourceValues = (source: RouteChange["source"]) => ({
  sourceProvider: source?.provider ?? null,
  sourceExternalId: source?.externalId ?? null,
  sourceUrl: source?.url ?? null
})

const surfaceText = (surfaces: RouteDraft["surfaces"]) => surfaces?.length ? JSON.stringify(surfaces) : null

/** An absent member changes no column; `null`, and "" for a text, clear theirs. */
export const changedValues = (change: RouteChange): RouteChanges => {
  const line = lineOf(change.geometry)
  return {
    ...plainValues(change),
    name: change.name,
    visibility: change.visibility,
    tags: change.tags === null ? [] : change.tags,
    favourite: change.favourite === null ? false : change.favourite,
    waypoints: change.waypoints && waypointText(change.waypoints),
    ...(line === undefined ? {} : lineValues(line)),
    ...(change.source === undefined ? {} : sourceValues(change.source)),
    // Cues and surfaces are those of the line that they came with.
    cues: change.cues === undefined && line === undefined ? undefined : cueText(change.cues),
    surfaces: change.surfaces === undefined && line === undefined ? undefined : surfaceText(change.surfaces),
    // A new geometry without a distance is measured: the old distance no longer applies.
    distance: change.distance === undefined && line !== undefined ? line?.metres ?? null : change.distance,
    // A line without elevations leaves the gain, which a client may have from elsewhere.
    elevationGain: change.elevationGain === undefined ? line?.elevationGain ?? undefined : change.elevationGain,
    routingPreferences: change.routingPreferences && JSON.stringify(change.routingPreferences),
    provenance: change.provenance
  }
}

export const placeValues = ({ placeCity, placeCountryCode, placeRegion }: Place) => ({
  placeCity: placeCity ?? null,
  placeRegion: placeRegion ?? null,
  placeCountryCode: placeCountryCode ?? null,
  placeVersion: PLACES_VERSION
})

export const valuesWithoutPlace = (route: Omit<RouteDraft, "geometry">, line: Line) => ({
  ...NO_VALUES,
  ...plainValues(route),
  name: route.name,
  visibility: route.visibility ?? "private" as const,
  tags: route.tags ?? [],
  favourite: route.favourite ?? false,
  waypoints: waypointText(route.waypoints),
  ...lineValues(line ?? null),
  ...sourceValues(route.source),
  cues: cueText(route.cues),
  bounds: boxOf(line, route.waypoints),
  distance: route.distance ?? line?.metres ?? null,
  elevationGain: route.elevationGain ?? line?.elevationGain ?? null,
  routingPreferences: route.routingPreferences ? JSON.stringify(route.routingPreferences) : null,
  surfaces: surfaceText(route.surfaces),
  provenance: route.provenance ?? "routing-engine" as const
})

/** Counts the bytes that a new route adds to its account's usage; must match what `route_bytes` counts. */
export const storedBytes = (
  { cues, description, waypoints }: Pick<RouteDraft, "cues" | "description" | "waypoints">,
  line: Line
): number => {
  const texts = Buffer.byteLength(waypointText(waypoints)) + Buffer.byteLength(description ?? "")
    + Buffer.byteLength(cueText(cues) ?? "")
  return line === undefined || line === null
    ? texts
    : texts + line.json.length + line.simplified.length + line.polyline6.length
}

/** A list for people has neither lines nor waypoints, by whose bytes its pages would end: theirs are `[]`. */
export type RouteForm = GeometryForm | "summary"

export type Source = (column: string) => string

const NO_TEXT = "NULL::text"

const NO_BYTES = "NULL::varchar"

const GEOMETRY = { full: "geometry", simplified: "simplified", none: undefined, polyline6: undefined }

const SEGMENTS = { full: "segments", simplified: "simplified_segments", none: undefined, polyline6: "segments" }

/**
 * The geometry is `varchar`, which is read as the UTF-8 that a response has (`ColumnTypes.ts`): as text it would be
 * decoded, encoded again, and fill V8's heap. Indexes of cues are into the full line.
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
  Struct.omit(["userId", "tags", "waypoints", "geometry", "polyline6", "segments", "cues"])
)

/** Others see these members as the view of a route has them. */
const VIEWED = [
  "distance",
  "duration",
  "elevationGain",
  "startAddress",
  "endAddress",
  "placeCity",
  "placeRegion",
  "placeCountryCode"
] as const

const OpenColumns = StoredColumns.mapFields(Struct.omit([...VIEWED, "surfaces"]))

export const OWNER_COLUMNS = `${ownerColumns}, u.zones_revision AS "zonesRevision"`

const SHARED = `${TAGS}, ${OWNER_COLUMNS}`

export const OWN: Source = (column) => `r.${column}`

export const byForm = <A>(make: (form: GeometryForm) => A): Readonly<Record<GeometryForm, A>> =>
  Record.map(GEOMETRY, (_, form) => make(form))

const columnsByForm = (columns: string, waypoints: string, source: Source): Readonly<Record<RouteForm, string>> => ({
  ...byForm((form) => `${columns}, ${waypoints} AS waypoints, ${lineColumns(form, source)}`),
  summary: `${columns}, '[]' AS waypoints, ${lineColumns("none", source)}`
})

/** Selects from `routes r JOIN users u` for the owner, with the polyline in the requested form only. */
export const ROUTE_COLUMNS = columnsByForm(`${columnsOf(StoredColumns, "r")}, ${SHARED}`, OWN("waypoints"), OWN)

export const SEEN: Source = (column) => `CASE WHEN s.is_open THEN r.${column} ELSE v.${column} END`

const seenAs = (field: typeof VIEWED[number]) => `${SEEN(String.camelToSnake(field))} AS "${field}"`

export const SEEN_CITY = seenAs("placeCity")

export const SEEN_DISTANCE = seenAs("distance")

const COLUMNS_FOR_OTHERS = [
  columnsOf(OpenColumns, "r"),
  ...VIEWED.map(seenAs),
  "CASE WHEN s.is_open THEN r.surfaces END AS surfaces",
  SHARED,
  `CASE WHEN NOT s.is_open THEN v.zones_revision END AS "cutRevision"`,
  `NOT s.is_open AND v.route_id IS NULL AS "isDue"`
].join(", ")

const SEEN_WAYPOINTS = "CASE WHEN s.is_open THEN r.waypoints ELSE coalesce(v.waypoints, '[]') END"

/** Selects from `routes r JOIN users u` and `asSeenBy`, without what zones may hide while a view is due (`isDue`). */
export const SEEN_COLUMNS = columnsByForm(COLUMNS_FOR_OTHERS, SEEN_WAYPOINTS, SEEN)

/** A line of more bytes is read by itself, so that a statement for several routes does not return many of them. */
const LONG = 256 * 1024

const SHORT: Source = (column) => `CASE WHEN octet_length(${SEEN(column)}) <= ${LONG} THEN ${SEEN(column)} END`

const isLong = (form: GeometryForm) => {
  const columns = [GEOMETRY[form] ?? "polyline6", "cues"].map((column) => `octet_length(${SEEN(column)})`)
  return `coalesce(greatest(${columns.join(", ")}) > ${LONG}, false) AS "isLong"`
}

/** Selects as `SEEN_COLUMNS` does, without long lines (`isLong`). */
export const SHORT_SEEN_COLUMNS = byForm((form) =>
  `${COLUMNS_FOR_OTHERS}, ${SEEN_WAYPOINTS} AS waypoints, ${lineColumns(form, SHORT)}, ${isLong(form)}`
)

/** Increase it when `cutRoute` cuts the same route in another way, so that all views are made again. */
export const CUT_VERSION = 3

/** The condition is true if `route_views v` is of the present `routes r` and `users u`, and cut by this version. */
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
  /** The geometry is a `Uint8Array` (`lineColumns`). Effect decodes a row with a class by column (decision 0015). */
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

/** Others see a route without these members. */
export const OWN_MEMBERS = ["recordedAt", "source"] as const satisfies ReadonlyArray<keyof StoredRoute>

type OwnMember = (typeof OWN_MEMBERS)[number]
type Seen = Omit<StoredRoute, OwnMember> & { readonly [Member in OwnMember]?: never }

/** Leaves out what is private to the owner. The times of waypoints say when the route was recorded. */
export const forOthers = (row: ShownRow, pseudonyms: Pseudonyms["Service"]): StoredRoute => {
  const { recordedAt: _recordedAt, source: _source, ...seen } = toStoredRoute(row, pseudonyms)
  return {
    ...(seen satisfies Seen),
    waypoints: withoutTimes(row.waypoints),
    favourite: false
  }
}
