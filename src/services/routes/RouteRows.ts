import { Schema, Struct } from "effect"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { MAX_DISTANCE, type StoredRoute } from "../../schema/Route.ts"
import { ownerColumns, OwnerFields, toUserSummary } from "../identity/OwnerRows.ts"
import type { Pseudonyms } from "../identity/Pseudonyms.ts"
import { columnsOf } from "../sql/Tables.ts"
import { RouteRecord } from "./RouteRecord.ts"

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

/** Their indexes are into the whole line. */
const CUES: Record<GeometryForm, string> = {
  full: "r.cues",
  simplified: "NULL::text",
  none: "NULL::text",
  polyline6: "r.cues"
}

// The driver cannot decode an array of arrays, and would fail all rows of the statement.
const TAGS = "CASE WHEN array_ndims(r.tags) > 1 THEN NULL ELSE r.tags END AS tags"

const StoredColumns = RouteRecord.select.mapFields(Struct.omit(["userId", "tags", "geometry", "polyline6", "cues"]))

const COLUMNS = `${columnsOf(StoredColumns, "r")}, ${TAGS}, ${ownerColumns}`

/** Selects from `routes r JOIN users u`, with the polyline in the requested form only. */
export const routeColumns = (form: GeometryForm) =>
  `${COLUMNS}, ${POSITIONS[form]} AS geometry, ${ENCODED[form]} AS polyline6, ${CUES[form]} AS cues`

export const TOTAL_DISTANCE =
  `coalesce(sum(greatest(0, least(r.distance, ${MAX_DISTANCE}))) FILTER (WHERE r.distance IS NOT NULL), 0)`

export const RouteRow = Schema.Struct({ ...RouteRecord.select.fields, ...OwnerFields })
export type RouteRow = typeof RouteRow.Type

const present = <A extends object>(record: A): { readonly [K in keyof A]?: NonNullable<A[K]> } => {
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
    elevationGain: row.elevationGain,
    startAddress: row.startAddress,
    endAddress: row.endAddress,
    placeCity: row.placeCity,
    placeRegion: row.placeRegion,
    placeCountryCode: row.placeCountryCode
  }),
  routingPreferences: row.routingPreferences,
  provenance: row.provenance,
  shareToken: row.shareToken,
  user: toUserSummary(row, pseudonyms),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  waypoints: row.waypoints,
  geometry: row.geometry ?? undefined,
  polyline6: row.polyline6 ?? undefined,
  cues: row.cues ?? undefined,
  version: row.version
})
