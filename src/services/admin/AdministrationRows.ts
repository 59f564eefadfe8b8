import { Schema } from "effect"
import type { AdminRoute, AdminUser, Overview, PendingDeletion } from "../../schema/Admin.ts"
import { RouteIdColumn, TimestampColumn, UserIdColumn } from "../../schema/Columns.ts"
import { Activity, Visibility } from "../../schema/Preferences.ts"
import { Provenance } from "../../schema/Route.ts"
import { deletionStatusOf, Handle } from "../../schema/User.ts"
import { OwnerFields, toUserSummary } from "../identity/OwnerRows.ts"
import type { Pseudonyms } from "../identity/Pseudonyms.ts"
import type { Roles } from "../identity/Roles.ts"
import { erasureDueAt } from "../retention/DeletionCutoff.ts"

const Text = Schema.NullOr(Schema.String)

export const OverviewRow = Schema.Struct({
  users: Schema.Int,
  verified: Schema.Int,
  pending_deletion: Schema.Int,
  new_users: Schema.Int,
  live_sessions: Schema.Int,
  seen_users: Schema.Int,
  live_tokens: Schema.Int,
  routes: Schema.Int,
  private_routes: Schema.Int,
  unlisted_routes: Schema.Int,
  public_routes: Schema.Int,
  new_routes: Schema.Int,
  collections: Schema.Int
})

export const toOverview = (row: typeof OverviewRow.Type): Overview => ({
  users: {
    total: row.users,
    verified: row.verified,
    pendingDeletion: row.pending_deletion,
    newLast30Days: row.new_users
  },
  sessions: { live: row.live_sessions, usersLast24Hours: row.seen_users },
  tokens: { live: row.live_tokens },
  routes: {
    total: row.routes,
    private: row.private_routes,
    unlisted: row.unlisted_routes,
    public: row.public_routes,
    newLast30Days: row.new_routes
  },
  collections: { total: row.collections }
})

export const AdminUserRow = Schema.Struct({
  id: UserIdColumn,
  email: Schema.String,
  name: Schema.String,
  handle: Handle,
  is_email_verified: Schema.Boolean,
  has_password: Schema.Boolean,
  has_identity_provider: Schema.Boolean,
  deletion_requested_at: Schema.NullOr(TimestampColumn),
  created_at: TimestampColumn,
  last_seen_at: Schema.NullOr(TimestampColumn),
  total_routes: Schema.Int,
  total_distance: Schema.Finite
})

export const toAdminUser = (row: typeof AdminUserRow.Type, roles: Roles["Service"]): AdminUser => ({
  id: row.id,
  email: row.email,
  name: row.name,
  handle: row.handle,
  isEmailVerified: row.is_email_verified,
  role: roles.of({ email: row.email, isEmailVerified: row.is_email_verified }),
  hasPassword: row.has_password,
  hasIdentityProvider: row.has_identity_provider,
  deletionStatus: deletionStatusOf(row.deletion_requested_at),
  deletionRequestedAt: row.deletion_requested_at,
  createdAt: row.created_at,
  lastSeenAt: row.last_seen_at,
  statistics: { totalRoutes: row.total_routes, totalDistance: row.total_distance }
})

export const AdminRouteRow = Schema.Struct({
  id: RouteIdColumn,
  name: Schema.String,
  activity: Schema.NullOr(Activity),
  visibility: Visibility,
  provenance: Provenance,
  distance: Schema.NullOr(Schema.Finite),
  place_city: Text,
  place_country_code: Text,
  ...OwnerFields,
  created_at: TimestampColumn,
  updated_at: TimestampColumn
})

export const toAdminRoute = (row: typeof AdminRouteRow.Type, pseudonyms: Pseudonyms["Service"]): AdminRoute => ({
  id: row.id,
  name: row.name,
  activity: row.activity,
  visibility: row.visibility,
  provenance: row.provenance,
  distance: row.distance,
  placeCity: row.place_city,
  placeCountryCode: row.place_country_code,
  user: toUserSummary(row, pseudonyms),
  createdAt: row.created_at,
  updatedAt: row.updated_at
})

export const OwnerRow = Schema.Struct({ user_id: UserIdColumn })

export const DeletionRow = Schema.Struct({
  id: UserIdColumn,
  email: Schema.String,
  name: Schema.String,
  handle: Handle,
  deletion_requested_at: Schema.Date
})

export const toDeletion = ({ deletion_requested_at, ...user }: typeof DeletionRow.Type): PendingDeletion => ({
  ...user,
  deletionRequestedAt: deletion_requested_at.toISOString(),
  erasureDueAt: erasureDueAt(deletion_requested_at).toISOString()
})
