import { Schema } from "effect"
import { Activity } from "./Activity.ts"
import { RouteId, UserId } from "./Ids.ts"
import { Provenance } from "./Route.ts"
import { EngineState } from "./Routing.ts"
import { trimmedText } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import { DeletionStatus, Handle, Role, Statistics, UserSummary } from "./User.ts"
import { Visibility } from "./Visibility.ts"

export const AdminSearch = trimmedText(1, 254)

/** Counts routes and collections that are not deleted, and accounts that are not erased. */
export const Overview = Schema.Struct({
  users: Schema.Struct({
    total: Schema.Int,
    verified: Schema.Int,
    pendingDeletion: Schema.Int,
    newLast30Days: Schema.Int
  }),
  sessions: Schema.Struct({ live: Schema.Int, usersLast24Hours: Schema.Int }),
  tokens: Schema.Struct({ live: Schema.Int }),
  routes: Schema.Struct({
    total: Schema.Int,
    private: Schema.Int,
    unlisted: Schema.Int,
    public: Schema.Int,
    newLast30Days: Schema.Int
  }),
  collections: Schema.Struct({ total: Schema.Int })
}).annotate({ identifier: "Overview" })
export type Overview = typeof Overview.Type

/** Has nothing that authenticates the user. `lastSeenAt` is of live sessions. */
export const AdminUser = Schema.Struct({
  id: UserId,
  email: Schema.String,
  name: Schema.String,
  handle: Handle,
  isEmailVerified: Schema.Boolean,
  role: Role,
  hasPassword: Schema.Boolean,
  hasIdentityProvider: Schema.Boolean,
  deletionStatus: DeletionStatus,
  deletionRequestedAt: Schema.NullOr(Timestamp),
  createdAt: Timestamp,
  lastSeenAt: Schema.NullOr(Timestamp),
  statistics: Statistics
}).annotate({ identifier: "AdminUser" })
export type AdminUser = typeof AdminUser.Type

export const AdminRoute = Schema.Struct({
  id: RouteId,
  name: Schema.String,
  activity: Schema.NullOr(Activity),
  visibility: Visibility,
  provenance: Provenance,
  distance: Schema.NullOr(Schema.Finite),
  placeCity: Schema.NullOr(Schema.String),
  placeCountryCode: Schema.NullOr(Schema.String),
  user: UserSummary,
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "AdminRoute" })
export type AdminRoute = typeof AdminRoute.Type

export const PendingDeletion = Schema.Struct({
  id: UserId,
  email: Schema.String,
  name: Schema.String,
  handle: Handle,
  deletionRequestedAt: Timestamp,
  erasureDueAt: Timestamp
}).annotate({ identifier: "PendingDeletion" })
export type PendingDeletion = typeof PendingDeletion.Type

const DashboardUrl = Schema.String.check(
  Schema.makeFilter((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ""), { expected: "an http or https URL" })
)

export const GrafanaUrls = Schema.Struct({
  apiOverview: Schema.optionalKey(DashboardUrl),
  apiLatency: Schema.optionalKey(DashboardUrl),
  runtime: Schema.optionalKey(DashboardUrl)
}).annotate({ identifier: "GrafanaUrls" })

/** Durations are in seconds. */
export const SystemStatus = Schema.Struct({
  service: Schema.Struct({ version: Schema.String, node: Schema.String, startedAt: Timestamp }),
  database: Schema.Struct({
    status: Schema.Literals(["ok", "away"]),
    version: Schema.optionalKey(Schema.String),
    latencyMillis: Schema.optionalKey(Schema.Finite)
  }),
  routingEngine: EngineState,
  rateLimits: Schema.Struct({ counters: Schema.Literals(["process", "redis", "redis-away"]) }),
  outbox: Schema.Struct({ waiting: Schema.Int, oldestSeconds: Schema.Finite }),
  deletions: Schema.Struct({ pending: Schema.Int, due: Schema.Int, lagSeconds: Schema.Finite }),
  grafana: GrafanaUrls
}).annotate({ identifier: "SystemStatus" })
export type SystemStatus = typeof SystemStatus.Type
