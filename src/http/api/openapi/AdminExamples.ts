const deletion = { deletionRequestedAt: "2025-06-01T08:30:00.000Z", erasureDueAt: "2025-07-01T08:30:00.000Z" }

const summary = { id: 7, name: "Ada Rider", handle: "ada-rider" }

const grafana = { apiOverview: "https://grafana.example/d/api", runtime: "https://grafana.example/d/runtime" }

const engine = { status: "ok", version: "3.5.1", tiles: "2025-05-30T00:00:00.000Z" }

export const ADMIN_EXAMPLES: Readonly<Record<string, unknown>> = {
  AdminRoute: {
    id: 12,
    name: "Around Vaduz",
    activity: "cycle",
    visibility: "public",
    provenance: "routing-engine",
    distance: 1177.4,
    placeCity: "Vaduz",
    placeCountryCode: "LI",
    user: { ...summary, idHash: "0f6c1b9d4e2a87350f6c1b9d4e2a8735" },
    createdAt: "2025-06-01T08:30:00.000Z",
    updatedAt: "2025-06-01T08:30:00.000Z"
  },
  AdminUser: {
    ...summary,
    email: "ada@example.com",
    isEmailVerified: true,
    role: "user",
    hasPassword: true,
    hasIdentityProvider: false,
    deletionStatus: "active",
    deletionRequestedAt: null,
    createdAt: "2025-05-01T12:00:00.000Z",
    lastSeenAt: "2025-06-01T09:12:44.000Z",
    statistics: { totalRoutes: 1, totalDistance: 1177.4 }
  },
  AuditEntry: {
    id: 314,
    createdAt: "2025-06-01T08:30:00.000Z",
    event: "admin.user_deleted",
    userId: 1,
    subjectId: 7,
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736"
  },
  EngineState: engine,
  GrafanaUrls: grafana,
  Overview: {
    users: { total: 1, verified: 1, pendingDeletion: 0, newLast30Days: 1 },
    sessions: { live: 2, usersLast24Hours: 1 },
    tokens: { live: 1 },
    routes: { total: 1, private: 0, unlisted: 0, public: 1, newLast30Days: 1 },
    collections: { total: 0 }
  },
  PendingDeletion: { ...summary, email: "ada@example.com", ...deletion },
  SystemStatus: {
    service: { version: "1.0.0", node: "v24.21.0", startedAt: "2025-06-01T08:00:00.000Z" },
    database: { status: "ok", version: "17.5", latencyMillis: 0.8 },
    routingEngine: engine,
    rateLimits: { counters: "redis" },
    outbox: { waiting: 0, oldestSeconds: 0 },
    deletions: { pending: 1, due: 0, lagSeconds: 0 },
    grafana
  }
}
