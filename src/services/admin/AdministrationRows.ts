import { Schema, Struct } from "effect"
import type { AdminRoute, AdminUser, Overview, PendingDeletion } from "../../schema/Admin.ts"
import { deletionStatusOf } from "../../schema/User.ts"
import { OwnerFields, toUserSummary } from "../identity/OwnerRows.ts"
import type { Pseudonyms } from "../identity/Pseudonyms.ts"
import type { Roles } from "../identity/Roles.ts"
import { UserRecord } from "../identity/UserRecord.ts"
import { erasureDueAt } from "../retention/DeletionCutoff.ts"
import { RouteRecord } from "../routes/RouteRecord.ts"
import { DeletionColumn, TimestampColumn } from "../sql/Columns.ts"

export const OverviewRow = Schema.Struct({
  users: Schema.Int,
  pendingDeletion: Schema.Int,
  newUsers: Schema.Int,
  liveSessions: Schema.Int,
  seenUsers: Schema.Int,
  liveTokens: Schema.Int,
  routes: Schema.Int,
  privateRoutes: Schema.Int,
  unlistedRoutes: Schema.Int,
  publicRoutes: Schema.Int,
  newRoutes: Schema.Int,
  collections: Schema.Int
})

export const toOverview = (row: typeof OverviewRow.Type): Overview => ({
  users: {
    total: row.users,
    verified: row.users,
    pendingDeletion: row.pendingDeletion,
    newLast30Days: row.newUsers
  },
  sessions: { live: row.liveSessions, usersLast24Hours: row.seenUsers },
  tokens: { live: row.liveTokens },
  routes: {
    total: row.routes,
    private: row.privateRoutes,
    unlisted: row.unlistedRoutes,
    public: row.publicRoutes,
    newLast30Days: row.newRoutes
  },
  collections: { total: row.collections }
})

export const AdminUserColumns = UserRecord.select.mapFields(
  Struct.pick(["id", "email", "name", "handle", "deletionRequestedAt", "createdAt"])
)

export const AdminUserRow = Schema.Struct({
  ...AdminUserColumns.fields,
  hasPassword: Schema.Boolean,
  hasIdentityProvider: Schema.Boolean,
  lastSeenAt: Schema.NullOr(TimestampColumn),
  totalRoutes: Schema.Int,
  totalDistance: Schema.Finite
})

export const toAdminUser = (
  { totalDistance, totalRoutes, ...row }: typeof AdminUserRow.Type,
  roles: Roles["Service"]
): AdminUser => ({
  id: row.id,
  email: row.email,
  name: row.name,
  handle: row.handle,
  isEmailVerified: true,
  role: roles.of(row),
  hasPassword: row.hasPassword,
  hasIdentityProvider: row.hasIdentityProvider,
  deletionStatus: deletionStatusOf(row.deletionRequestedAt),
  deletionRequestedAt: row.deletionRequestedAt,
  createdAt: row.createdAt,
  lastSeenAt: row.lastSeenAt,
  statistics: { totalRoutes, totalDistance }
})

export const AdminRouteColumns = RouteRecord.select.mapFields(
  Struct.pick([
    "id",
    "name",
    "activity",
    "visibility",
    "provenance",
    "placeCountryCode",
    "createdAt",
    "updatedAt"
  ])
)

const { distance, placeCity } = RouteRecord.select.fields

export const AdminRouteRow = Schema.Struct({ ...AdminRouteColumns.fields, distance, placeCity, ...OwnerFields })

export const toAdminRoute = (row: typeof AdminRouteRow.Type, pseudonyms: Pseudonyms["Service"]): AdminRoute => ({
  id: row.id,
  name: row.name,
  activity: row.activity,
  visibility: row.visibility,
  provenance: row.provenance,
  distance: row.distance,
  placeCity: row.placeCity,
  placeCountryCode: row.placeCountryCode,
  user: toUserSummary(row, pseudonyms),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt
})

export const OwnerRow = RouteRecord.select.mapFields(Struct.pick(["userId"]))

export const DeletionColumns = UserRecord.select.mapFields(Struct.pick(["id", "email", "name", "handle"]))

export const DeletionRow = Schema.Struct({ ...DeletionColumns.fields, deletionRequestedAt: DeletionColumn })

export const toDeletion = ({ deletionRequestedAt, ...user }: typeof DeletionRow.Type): PendingDeletion => ({
  ...user,
  deletionRequestedAt: deletionRequestedAt.toISOString(),
  erasureDueAt: erasureDueAt(deletionRequestedAt).toISOString()
})
