import { Schema } from "effect"
import { readable, RouteIdColumn, ShareTokenColumn, TimestampColumn, VersionColumn } from "../../schema/Columns.ts"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { Activity, RoutingPreferences, Visibility } from "../../schema/Preferences.ts"
import { MAX_DISTANCE, Provenance, type StoredRoute } from "../../schema/Route.ts"
import { ownerColumns, OwnerFields, toUserSummary } from "../identity/OwnerRows.ts"
import type { Pseudonyms } from "../identity/Pseudonyms.ts"

const POSITIONS: Record<GeometryForm, string> = {
  full: "r.geometry",
  simplified: "r.simplified",
  none: "NULL::text",
  polyline6: "NULL::text"
}

const ENCODED: Record<GeometryForm, string> = {
  full: "NULL::text",
  simplified: "NULL::text",
  none: "NULL::text",
  polyline6: "to_json(r.polyline6)::text"
}

// The driver cannot decode an array of arrays, and would fail all rows of the statement.
const TAGS = "CASE WHEN array_ndims(r.tags) > 1 THEN NULL ELSE r.tags END AS tags"

/** Selects from `routes r JOIN users u`, with the polyline in the requested form only. */
export const routeColumns = (form: GeometryForm) => `
  r.id, r.name, r.description, r.activity, r.visibility, ${TAGS}, r.favourite, r.waypoints,
  ${POSITIONS[form]} AS geometry, ${
  ENCODED[form]
} AS polyline6, r.distance, r.duration, r.elevation_gain, r.start_address, r.end_address, r.place_city,
  r.place_region, r.place_country_code, r.routing_preferences, r.provenance, r.share_token, r.created_at, r.updated_at,
  r.version, ${ownerColumns}`

export const TOTAL_DISTANCE =
  `coalesce(sum(greatest(0, least(r.distance, ${MAX_DISTANCE}))) FILTER (WHERE r.distance IS NOT NULL), 0)`

const Text = Schema.NullOr(Schema.String)
const Measure = Schema.NullOr(Schema.Finite)

export const RouteRow = Schema.Struct({
  id: RouteIdColumn,
  ...OwnerFields,
  name: Schema.String,
  description: Text,
  activity: Schema.NullOr(Activity),
  visibility: Visibility,
  tags: Schema.Array(Schema.String),
  favourite: Schema.Boolean,
  waypoints: Schema.String,
  geometry: Text,
  polyline6: Text,
  distance: Measure,
  duration: Measure,
  elevation_gain: Measure,
  start_address: Text,
  end_address: Text,
  place_city: Text,
  place_region: Text,
  place_country_code: Text,
  routing_preferences: readable(Schema.NullOr(Schema.fromJsonString(RoutingPreferences))),
  provenance: Provenance,
  share_token: ShareTokenColumn,
  created_at: TimestampColumn,
  updated_at: TimestampColumn,
  version: VersionColumn
})
export type RouteRow = typeof RouteRow.Type

const present = <A extends Record<string, unknown>>(record: A): { readonly [K in keyof A]?: NonNullable<A[K]> } => {
  const result: { [K in keyof A]?: NonNullable<A[K]> } = {}
  for (const key in record) {
    const value = record[key]
    if (value !== null && value !== undefined) result[key] = value
  }
  return result
}

export const toStoredRoute = (row: RouteRow, pseudonyms: Pseudonyms["Service"]): StoredRoute => ({
  id: row.id,
  name: row.name,
  visibility: row.visibility,
  tags: row.tags,
  favourite: row.favourite,
  ...present({
    description: row.description,
    activity: row.activity,
    distance: row.distance,
    duration: row.duration,
    elevationGain: row.elevation_gain,
    startAddress: row.start_address,
    endAddress: row.end_address,
    placeCity: row.place_city,
    placeRegion: row.place_region,
    placeCountryCode: row.place_country_code
  }),
  routingPreferences: row.routing_preferences,
  provenance: row.provenance,
  shareToken: row.share_token,
  user: toUserSummary(row, pseudonyms),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  waypoints: row.waypoints,
  geometry: row.geometry ?? undefined,
  polyline6: row.polyline6 ?? undefined,
  version: row.version
})

export const StartRow = Schema.Struct({
  has_geometry: Schema.Boolean,
  waypoints: Schema.fromJsonString(
    Schema.NonEmptyArray(Schema.Struct({ coord: Schema.Tuple([Schema.Finite, Schema.Finite]) }))
  )
})
