import { Schema } from "effect"
import { RouteId, UserId } from "./Ids.ts"
import { inWords, SESSION_LIFETIME } from "./Limits.ts"
import { CreatedAt, Metres, Timestamp, UpdatedAt } from "./Measures.ts"
import { named } from "./Named.ts"
import { Activity } from "./Preferences.ts"
import { Visibility } from "./Resource.ts"
import { PlaceCity, PlaceCountryCode, Provenance, RouteName } from "./Route.ts"
import { ENGINE, EngineState } from "./Routing.ts"
import { parsedUrl, trimmedText } from "./Text.ts"
import {
  ACCOUNT_FACTS,
  DeletionRequestedAt,
  DeletionStatus,
  Handle,
  Role,
  STATISTICS,
  Statistics,
  USER,
  USER_SUMMARY,
  UserEmail,
  UserName,
  UserSummary
} from "./User.ts"

export const AdminSearch = trimmedText(1, 254).annotate({
  description: "A part of a name, a handle or an email address; case-insensitive"
})

export const AdminUserSort = Schema.Literals(["-createdAt", "-storedBytes"]).annotate({
  description: "The newest first, which is the default, or those first that store most"
})
export type AdminUserSort = typeof AdminUserSort.Type

const count = (description: string) => Schema.Int.annotate({ description })

/** Counts routes and collections that are not deleted, and accounts that are not erased. */
export const Overview = Schema.Struct({
  users: Schema.Struct({
    total: count("How many there are"),
    verified: count("How many have a verified address"),
    pendingDeletion: count("How many are pending deletion"),
    newLast30Days: count("How many are of the last 30 days")
  }).annotate({ description: "Numbers of accounts" }),
  sessions: Schema.Struct({
    live: count("How many there are"),
    usersLast24Hours: count("How many users were seen within 24 hours")
  }).annotate({ description: "Numbers of sessions" }),
  tokens: Schema.Struct({ live: count("How many there are") }).annotate({
    description: "Numbers of personal access tokens"
  }),
  routes: Schema.Struct({
    total: count("How many there are"),
    private: count("How many are private"),
    unlisted: count("How many are unlisted"),
    public: count("How many are public"),
    newLast30Days: count("How many are of the last 30 days")
  }).annotate({ description: "Numbers of routes" }),
  collections: Schema.Struct({ total: count("How many there are") }).annotate({ description: "Numbers of collections" })
}).annotate(named("Overview", "Numbers of accounts, sessions, tokens, routes and collections.", {
  users: { total: 1, verified: 1, pendingDeletion: 0, newLast30Days: 1 },
  sessions: { live: 2, usersLast24Hours: 1 },
  tokens: { live: 1 },
  routes: { total: 1, private: 0, unlisted: 0, public: 1, newLast30Days: 1 },
  collections: { total: 0 }
}))
export type Overview = typeof Overview.Type

const OWNER = { id: USER_SUMMARY.id, name: USER_SUMMARY.name, handle: USER_SUMMARY.handle }

/** The user comes without anything that authenticates them. */
export const AdminUser = Schema.Struct({
  id: UserId,
  email: UserEmail,
  name: UserName,
  handle: Handle,
  isEmailVerified: ACCOUNT_FACTS.isEmailVerified,
  role: Role,
  hasPassword: ACCOUNT_FACTS.hasPassword,
  hasIdentityProvider: Schema.Boolean.annotate({
    description: "Whether the account is linked to the identity provider"
  }),
  deletionStatus: DeletionStatus,
  deletionRequestedAt: Schema.NullOr(DeletionRequestedAt),
  createdAt: CreatedAt,
  lastSeenAt: Schema.NullOr(Timestamp).annotate({
    description: "When one of its sessions was last used, ended ones too; null where the last sign-in is more than "
      + `${inWords(SESSION_LIFETIME)} ago`
  }),
  storedBytes: Schema.Int.annotate({
    description: "Bytes of its routes, those in the trash too, and of kept responses"
  }),
  statistics: Statistics
}).annotate(named("AdminUser", "An account as administrators see it: no credentials.", {
  ...OWNER,
  email: USER.email,
  isEmailVerified: true,
  role: "user",
  hasPassword: true,
  hasIdentityProvider: false,
  deletionStatus: "active",
  deletionRequestedAt: null,
  createdAt: "2025-05-01T12:00:00.000Z",
  lastSeenAt: "2025-06-01T09:12:44.000Z",
  storedBytes: 81_920,
  statistics: STATISTICS
}))
export type AdminUser = typeof AdminUser.Type

export const AdminRoute = Schema.Struct({
  id: RouteId,
  name: RouteName,
  activity: Schema.NullOr(Activity),
  visibility: Visibility,
  provenance: Provenance,
  distance: Schema.NullOr(Metres),
  placeCity: Schema.NullOr(PlaceCity),
  placeCountryCode: Schema.NullOr(PlaceCountryCode),
  user: UserSummary,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt
}).annotate(named("AdminRoute", "A route as administrators see it: neither its line nor its share token.", {
  id: RouteId.make(12),
  name: "Around Vaduz",
  activity: "cycle",
  visibility: "public",
  provenance: "routing-engine",
  distance: 1177.4,
  placeCity: "Vaduz",
  placeCountryCode: "LI",
  user: USER_SUMMARY,
  createdAt: "2025-06-01T08:30:00.000Z",
  updatedAt: "2025-06-01T08:30:00.000Z"
}))
export type AdminRoute = typeof AdminRoute.Type

export const PendingDeletion = Schema.Struct({
  id: UserId,
  email: UserEmail,
  name: UserName,
  handle: Handle,
  deletionRequestedAt: DeletionRequestedAt,
  erasureDueAt: Timestamp.annotate({ description: "From when on the account is erased" })
}).annotate(named("PendingDeletion", "An account that is pending deletion.", {
  ...OWNER,
  email: USER.email,
  deletionRequestedAt: "2025-06-01T08:30:00.000Z",
  erasureDueAt: "2025-07-01T08:30:00.000Z"
}))
export type PendingDeletion = typeof PendingDeletion.Type

const dashboard = (name: string) => DashboardUrl.annotateKey({ description: `The URL of the dashboard ${name}` })

const DashboardUrl = Schema.String.check(
  Schema.makeFilter((text) => /^https?:$/.test(parsedUrl(text)?.protocol ?? ""), { expected: "an http or https URL" })
)

const GRAFANA = { apiOverview: "https://grafana.example/d/api", runtime: "https://grafana.example/d/runtime" }

export const GrafanaUrls = Schema.Struct({
  apiOverview: Schema.optionalKey(dashboard("of requests")),
  apiLatency: Schema.optionalKey(dashboard("of response times")),
  runtime: Schema.optionalKey(dashboard("of the process"))
}).annotate(named("GrafanaUrls", "Where the dashboards are.", GRAFANA))

export const Reachability = Schema.Literals(["ok", "away"])

export const ProviderState = Schema.Struct({
  issuer: Schema.String.annotate({ description: "The origin of its issuer" }),
  status: Reachability.annotate({
    description: "`ok` where its document was read within the last hour"
  })
}).annotate(
  named("ProviderState", "The state of an identity provider.", { issuer: "https://id.example.com", status: "ok" })
)
export type ProviderState = typeof ProviderState.Type

export const ReplicaState = Schema.Struct({
  replica: count("Its place in `DATABASE_READ_URL`, from 1"),
  status: Schema.Literals(["ok", "away", "behind"]).annotate({
    description: "`behind` where it lags more than `DATABASE_READ_MAX_LAG`: the primary serves then"
  }),
  lagSeconds: Schema.optionalKey(
    Schema.Finite.annotate({ description: "The age of the newest commit that it is known to have" })
  )
}).annotate(named("ReplicaState", "The state of a read replica.", { replica: 1, status: "ok", lagSeconds: 0.1 }))
export type ReplicaState = typeof ReplicaState.Type

/** Durations are in seconds. */
export const SystemStatus = Schema.Struct({
  service: Schema.Struct({
    version: Schema.String.annotate({ description: "The version of the service" }),
    commit: Schema.String.annotate({ description: "The commit that runs; `unknown` where nothing says it" }),
    node: Schema.String.annotate({ description: "The version of Node.js" }),
    startedAt: Timestamp.annotate({ description: "When the process started" })
  }).annotate({ description: "The process that responds" }),
  database: Schema.Struct({
    status: Reachability.annotate({ description: "Whether it works" }),
    version: Schema.optionalKey(Schema.String.annotate({ description: "The version of PostgreSQL" })),
    latencyMillis: Schema.optionalKey(
      Schema.Finite.annotate({ description: "Milliseconds until the database responded" })
    ),
    tables: Schema.Array(
      Schema.Struct({
        name: Schema.String.annotate({ description: "The name of the table" }),
        bytes: count("What the table and its indexes take on the disk")
      }).annotate(named("TableSize", "The size of a table.", { name: "routes", bytes: 81_920 }))
    ).annotate({ description: "The tables, the largest first" })
  }).annotate({ description: "The database" }),
  replicas: Schema.Array(ReplicaState).annotate({ description: "The read replicas" }),
  routingEngine: EngineState,
  identityProviders: Schema.Array(ProviderState).annotate({ description: "Those that people sign in by" }),
  rateLimits: Schema.Struct({
    counters: Schema.Literals(["process", "redis", "redis-away"]).annotate({
      description: "Where requests are counted"
    })
  }).annotate({ description: "The rate limits" }),
  outbox: Schema.Struct({
    sentBy: Schema.Literals(["provider", "smtp", "standard-output"]).annotate({
      description: "Where mails go; `standard-output` sends none"
    }),
    waiting: count("How many are pending"),
    failing: count("How many of them were tried more than once"),
    oldestSeconds: Schema.Finite.annotate({ description: "For how many seconds the oldest is pending" })
  }).annotate({ description: "Mails to be sent" }),
  deletions: Schema.Struct({
    pending: count("How many there are"),
    due: count("How many are to be erased now"),
    lagSeconds: Schema.Finite.annotate({ description: "For how many seconds the oldest of them is due" })
  }).annotate({ description: "Deletions of accounts" }),
  sweeps: Schema.Array(
    Schema.Struct({
      name: Schema.String.annotate({ description: "What it sweeps" }),
      lastRunAt: Timestamp.annotate({ description: "When it ended last" })
    }).annotate(
      named("SweepRun", "The last run of a sweep.", { name: "accounts", lastRunAt: "2025-06-01T08:00:00.000Z" })
    )
  ).annotate({ description: "The sweeps of this process" }),
  settings: Schema.Array(
    Schema.Struct({
      name: Schema.String.annotate({ description: "The environment variable" }),
      value: Schema.String.annotate({ description: "Its value, of a URL without what may be a key" })
    }).annotate(
      named("ChangedSetting", "A setting that differs from its default.", { name: "DATABASE_POOL_SIZE", value: "20" })
    )
  ).annotate({ description: "The settings that differ from their defaults, without secrets" }),
  warnings: Schema.Array(Schema.String).annotate({ description: "What the host should change" }),
  grafana: GrafanaUrls
}).annotate(named("SystemStatus", "The state of the parts of the service.", {
  service: { version: "1.0.0", commit: "5f9cb5a1", node: "v24.21.0", startedAt: "2025-06-01T08:00:00.000Z" },
  database: { status: "ok", version: "17.5", latencyMillis: 0.8, tables: [{ name: "routes", bytes: 81_920 }] },
  replicas: [{ replica: 1, status: "ok", lagSeconds: 0.1 }],
  routingEngine: ENGINE,
  identityProviders: [{ issuer: "https://id.example.com", status: "ok" }],
  rateLimits: { counters: "redis" },
  outbox: { sentBy: "smtp", waiting: 0, failing: 0, oldestSeconds: 0 },
  deletions: { pending: 1, due: 0, lagSeconds: 0 },
  sweeps: [{ name: "accounts", lastRunAt: "2025-06-01T08:00:00.000Z" }],
  settings: [{ name: "DATABASE_POOL_SIZE", value: "20" }],
  warnings: ["SIGNUP_ENABLE is no setting: did you mean SIGNUP_ENABLED?"],
  grafana: GRAFANA
}))
export type SystemStatus = typeof SystemStatus.Type

export const AuditEvent = Schema.Literals([
  "sign_in.succeeded",
  "sign_in.failed",
  "session.revoked",
  "sessions.revoked",
  "password.reset_requested",
  "password.reset",
  "password.changed",
  "password.change_failed",
  "password.removed",
  "token.minted",
  "token.mint_failed",
  "token.revoked",
  "link.created",
  "link.changed",
  "link.deleted",
  "share_token.replaced",
  "privacy_zones.changed",
  "account.deletion_requested",
  "account.deletion_cancelled",
  "account.erased",
  "admin.users_listed",
  "admin.user_viewed",
  "admin.user_deleted",
  "admin.user_invited",
  "admin.invitations_listed",
  "admin.invitation_withdrawn",
  "admin.deletions_listed",
  "admin.routes_listed",
  "admin.route_deleted",
  "admin.audit_read"
]).annotate({ description: "What happened" })
export type AuditEvent = typeof AuditEvent.Type

export const AuditEntry = Schema.Struct({
  id: Schema.Int.annotate({ description: "The id of the entry" }),
  createdAt: CreatedAt,
  event: AuditEvent,
  userId: Schema.NullOr(UserId).annotate({ description: "The account that did it, or that an attempt failed for" }),
  subjectId: Schema.NullOr(UserId).annotate({ description: "The account that an administrator acted on" }),
  traceId: Schema.NullOr(Schema.String).annotate({ description: "The trace of the request (W3C Trace Context)" })
}).annotate(named("AuditEntry", "Something that happened to an account.", {
  id: 314,
  createdAt: "2025-06-01T08:30:00.000Z",
  event: "admin.user_deleted",
  userId: UserId.make(1),
  subjectId: UserId.make(7),
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736"
}))
export type AuditEntry = typeof AuditEntry.Type
