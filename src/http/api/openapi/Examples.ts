import { ADMIN_EXAMPLES } from "./AdminExamples.ts"
import { CREDENTIAL_EXAMPLES } from "./CredentialExamples.ts"
import { LINK_EXAMPLES } from "./LinkExamples.ts"
import { SYNC_EXAMPLES } from "./SyncExamples.ts"

const SHARE_TOKEN = "5f2d8c1e9b7a4036a1c4e8d2f0b3967d"

const ID_TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6Ij..."

const ENGINE = { status: "ok", version: "3.5.1", tiles: "2025-05-30T00:00:00.000Z" }

const summary = { id: 7, name: "Ada Rider", handle: "ada-rider", idHash: "0f6c1b9d4e2a87350f6c1b9d4e2a8735" }

const waypoints = [
  { coord: [9.5209, 47.1415], type: "routed", name: "Start" },
  { coord: [9.53, 47.1501], type: "routed" }
]

const geometry = [[9.5209, 47.1415, 455], [9.5254, 47.144, 461], [9.53, 47.1501, 470]]

const routingPreferences = { surfacePreference: "unpaved", avoidFerries: true }

const newRoute = {
  name: "Around Vaduz",
  activity: "cycle",
  visibility: "unlisted",
  tags: ["gravel"],
  waypoints,
  geometry,
  duration: 360,
  routingPreferences
}

const route = {
  id: 12,
  ...newRoute,
  favourite: false,
  distance: 1177.4,
  placeCity: "Vaduz",
  placeRegion: "Vaduz",
  placeCountryCode: "LI",
  provenance: "routing-engine",
  shareToken: SHARE_TOKEN,
  user: summary,
  createdAt: "2025-06-01T08:30:00.000Z",
  updatedAt: "2025-06-01T08:30:00.000Z",
  url: `https://routes.example.com/r/${SHARE_TOKEN}`
}

const collection = {
  id: 4,
  name: "Alpine passes",
  visibility: "private",
  routeIds: [12],
  routeCount: 1,
  shareToken: SHARE_TOKEN,
  user: summary,
  createdAt: "2025-06-01T08:30:00.000Z",
  updatedAt: "2025-06-01T08:30:00.000Z"
}

const trashed = { deletedAt: "2025-06-02T10:00:00.000Z", purgedAt: "2025-07-02T10:00:00.000Z" }

const imported = { created: 12, restored: 1, unchanged: 0 }

const importWarning = { code: "dropped", message: "extensions of points: a route has no place for it", count: 2 }

const importTrack = {
  index: 0,
  name: "Around Vaduz",
  positions: 3,
  distance: 1177.4,
  bounds: [9.5209, 47.1415, 9.53, 47.1501],
  placeCity: "Vaduz",
  placeRegion: "Vaduz",
  placeCountryCode: "LI"
}

const preferences = { units: "metric", defaultActivity: "cycle", defaultRouteVisibility: "private" }

const zone = { center: [9.5209, 47.1415], radius: 500, label: "Home" }

const user = {
  ...summary,
  email: "ada@example.com",
  isEmailVerified: true,
  role: "user",
  preferences,
  deletionStatus: "active",
  deletionRequestedAt: null,
  hasPassword: true
}

const locations = [{ lat: 47.1415, lon: 9.5209 }, { lat: 47.1501, lon: 9.53 }]

const shape = "_mzbyA{lkgQwqC_yGo|JodI"

const geojson = {
  type: "FeatureCollection",
  features: [
    { type: "Feature", properties: { role: "geometry" }, geometry: { type: "LineString", coordinates: geometry } },
    {
      type: "Feature",
      properties: { role: "waypoint", name: "Start" },
      geometry: { type: "Point", coordinates: [9.5209, 47.1415] }
    }
  ]
}

const usage = {
  routes: { used: 2, limit: 10_000 },
  storedBytes: { used: 81_920, limit: 1_073_741_824 },
  collections: { used: 1, limit: 1000 }
}

/** By name of the schema. A test checks that each matches. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  ...ADMIN_EXAMPLES,
  ...CREDENTIAL_EXAMPLES,
  ...LINK_EXAMPLES,
  ...SYNC_EXAMPLES,
  Addition: { routeId: 12, position: 0 },
  Collection: collection,
  CollectionRoute: route,
  CreatedRoute: route,
  DeletedCollection: { ...collection, ...trashed },
  DeletedRoute: { ...route, ...trashed },
  CollectionPatch: { name: "Alpine passes by bike", description: null },
  DryRun: {
    format: "gpx",
    tracks: [importTrack],
    trackCount: 1,
    route: { name: "Around Vaduz", waypoints, geometry },
    distance: 1177.4,
    bounds: importTrack.bounds,
    placeCity: "Vaduz",
    placeRegion: "Vaduz",
    placeCountryCode: "LI",
    warnings: [importWarning],
    duplicates: [{ index: 0, routeId: 42 }],
    dropped: [{ what: "extensions of points", why: "a route has no place for it", count: 2 }]
  },
  EmailProof: { token: "Qm9yZGVybGluZS10b2tlbi1mb3ItdmVyaWZpY2F0aW9u", password: "a long enough password" },
  EngineAway: { status: "away" },
  EngineReady: ENGINE,
  Feature: geojson.features[0],
  FeatureCollection: geojson,
  LineString: geojson.features[0]?.geometry,
  Point: { type: "Point", coordinates: [9.5209, 47.1415] },
  EmailSignIn: { email: "ada@example.com", password: "a long enough password" },
  Invitation: { email: "ada@example.com" },
  Liveness: { status: "ok" },
  AccountInput: { email: "ada@example.com", password: "a long enough password", name: "Ada Rider" },
  CollectionInput: { name: "Alpine passes", routeIds: [12] },
  RouteInput: newRoute,
  PasswordChange: { currentPassword: "a long enough password", newPassword: "another long password" },
  PasswordReset: { token: "Qm9yZGVybGluZS10b2tlbi1mb3ItdmVyaWZpY2F0aW9u", password: "another long password" },
  Preferences: preferences,
  PreferencesPatch: { units: "imperial", mapStyle: null },
  ImportedRoute: { ...route, provenance: "gpx-import", warnings: [importWarning] },
  ImportTrack: importTrack,
  ImportWarning: importWarning,
  ImportOutcome: imported,
  RouteImportOutcome: { ...imported, duplicates: 1 },
  ImportReport: {
    routes: { ...imported, duplicates: 1 },
    collections: { created: 1, restored: 0, unchanged: 0 },
    preferences: "unchanged"
  },
  PrivacyZone: zone,
  PrivacyZones: { zones: [zone] },
  Profile: { ...user, statistics: { totalRoutes: 1, totalDistance: 1177.4 }, usage },
  ProfilePatch: { name: "Ada", preferences: { units: "imperial" } },
  ProviderCredential: { code: "4/0AdQt8qh..." },
  ProviderCredentialByCode: { code: "4/0AdQt8qh..." },
  ProviderCredentialByCredential: { credential: ID_TOKEN },
  ProviderCredentialByIdToken: { idToken: ID_TOKEN },
  PublicProfile: { ...summary, createdAt: "2025-05-01T12:00:00.000Z", publicRoutes: 0 },
  Readiness: { status: "ok", routingEngine: ENGINE },
  ResetRequest: { email: "ada@example.com" },
  Route: route,
  RouteOrder: { routeIds: [12] },
  RoutePatch: { visibility: "public", description: null },
  RoutingAnswer: {
    legs: [{ shape, summary: { length: 1.2, time: 290.5 } }],
    locations: locations.map((location, index) => ({ ...location, original_index: index })),
    warnings: []
  },
  RoutingPreferences: routingPreferences,
  RoutingRequest: { activity: "cycle", preferences: routingPreferences, locations },
  Session: {
    id: "0b7c4e0e-5d0a-4c39-9a55-0d5c7f2f8f11",
    createdAt: "2025-06-01T08:30:00.000Z",
    lastSeenAt: "2025-06-01T09:12:44.000Z",
    expiresAt: "2025-07-01T08:30:00.000Z",
    userAgent: "Mozilla/5.0",
    ipAddress: "203.0.113.9",
    current: true
  },
  SignIn: { accessToken: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...", user },
  Success: { success: true },
  TagCount: { tag: "gravel", count: 12 },
  TraceAnswer: {
    coverage: 1,
    shape,
    edges: [{ surface: "gravel", length: 1.2, road_class: "unclassified", begin_shape_index: 0, end_shape_index: 2 }],
    matched_points: locations.map((location) => ({ ...location, type: "matched", edge_index: 0 })),
    surfaces: [{ surface: "gravel", length: 1.2, share: 1 }]
  },
  TraceRequest: { activity: "cycle", shape: locations },
  TraceRequestByEncodedPolyline: { activity: "cycle", encodedPolyline: shape },
  TraceRequestByShape: { activity: "cycle", shape: locations },
  Usage: usage,
  User: user,
  UserSummary: summary,
  Waypoint: { coord: [9.5209, 47.1415], type: "routed", name: "Start" }
}
