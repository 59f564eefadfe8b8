import { Schema, Struct } from "effect"
import { Model } from "effect/schema"
import { RouteId, ShareToken, UserId } from "../../schema/Ids.ts"
import { Visibility } from "../../schema/Resource.ts"
import { PLAIN, Provenance } from "../../schema/Route.ts"
import { Instant, InstantOnce, readOnly, tableOf, writtenOnce } from "../sql/Tables.ts"

const Text = Schema.NullOr(Schema.String)

/** Columns that reads do not select by name. */
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
  positionCount: written(Schema.Int),
  cues: Text,
  bounds: written(Text),
  distance: Schema.NullOr(Schema.Finite),
  placeCity: Text,
  placeRegion: Text,
  placeCountryCode: Text,
  placeVersion: written(Schema.Int),
  /** JSON, which `toStoredRoute` reads. */
  routingPreferences: Text,
  provenance: Provenance,
  shareToken: writtenOnce(ShareToken),
  importedFrom: Model.Field({ insert: Schema.NullOr(ShareToken) }),
  publishedAt: Model.Field({ insert: Schema.NullOr(Schema.Date) }),
  createdAt: InstantOnce,
  updatedAt: Instant,
  deletedAt: Model.Field({ update: Schema.NullOr(Schema.Date) }),
  version: readOnly(Schema.Int)
}) {}

export const routesTable = tableOf("routes", RouteRecord)

export const ChangedRouteRow = Schema.toType(RouteRecord.update.mapFields(Struct.map(Schema.optional)))
export type RouteChanges = typeof ChangedRouteRow.Type
