import { Schema, Struct } from "effect"
import { MAX_ROUTES, NewCollection, RouteIds } from "./Collection.ts"
import { CollectionId, RouteId, ShareToken } from "./Ids.ts"
import { Count } from "./Measures.ts"
import { named } from "./Named.ts"
import { Preferences } from "./Preferences.ts"
import { ZoneList } from "./PrivacyZone.ts"
import { Visibility } from "./Resource.ts"
import { NewRoute, Provenance } from "./Route.ts"

/** An archive has at most this many bytes: twice those of 10,000 routes of 1,000 positions. */
export const ARCHIVE_BODY_LIMIT = 512 * 1024 * 1024

export const MAX_UNPACKED = 512 * 1024 * 1024

/** A small archive must not keep the service busy for long. */
export const MAX_ARCHIVE_FILES = 50_000

/** `size` is in bytes, before compression. */
export const ArchivedFile = Schema.Struct({
  name: Schema.String,
  size: Count,
  sha256: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "64 hex digits in lower case" }))
})
export type ArchivedFile = typeof ArchivedFile.Type

/** A route in `changedMeanwhile` changed during the export: `routes.json` has it as first read, no GPX file has it. */
export const Manifest = Schema.Struct({
  format: Schema.Literal("route-planning-service/account"),
  version: Schema.Literal(1),
  createdAt: Schema.String,
  counts: Schema.Struct({ routes: Count, collections: Count, tokens: Count, sessions: Count }),
  changedMeanwhile: Schema.Array(RouteId).check(Schema.isMaxLength(MAX_ARCHIVE_FILES)),
  files: Schema.Array(ArchivedFile).check(Schema.isMaxLength(MAX_ARCHIVE_FILES))
})
export type Manifest = typeof Manifest.Type

/** PostgreSQL has no year 0, and a parsed 30 February is one of March. */
const isWritten = (text: string) => !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text

const Instant = Schema.String.check(
  Schema.isPattern(/^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u),
  Schema.makeFilter(isWritten, { expected: "an ISO 8601 instant" })
)

/** These members identify the same route or collection in every account that it was imported into. */
const identity = { origin: ShareToken, createdAt: Instant, updatedAt: Instant }

export const ArchivedRoute = Schema.Struct({
  ...Struct.omit(NewRoute.fields, ["polyline6"]),
  ...identity,
  id: RouteId,
  visibility: Visibility,
  provenance: Provenance
})
export type ArchivedRoute = typeof ArchivedRoute.Type

export const ArchivedCollection = Schema.Struct({
  ...NewCollection.fields,
  ...identity,
  id: CollectionId,
  visibility: Visibility,
  routeIds: RouteIds,
  others: Schema.Array(Schema.Struct({ id: RouteId, shareToken: ShareToken })).check(Schema.isMaxLength(MAX_ROUTES))
})
export type ArchivedCollection = typeof ArchivedCollection.Type

/** Archives of earlier versions have no zones. */
export const ArchivedProfile = Schema.Struct({
  preferences: Schema.NullOr(Preferences),
  privacyZones: Schema.optionalKey(ZoneList)
})

const OUTCOME = { created: 12, restored: 1, unchanged: 0 }

const Outcome = Schema.Struct({
  created: Count.annotate({ description: "How many are new" }),
  restored: Count.annotate({ description: "How many were taken out of the trash" }),
  unchanged: Count.annotate({ description: "How many stayed as they were" })
}).annotate(named("ImportOutcome", "How many an import created, took out of the trash and left as they were.", OUTCOME))
export type Outcome = typeof Outcome.Type

const RouteOutcome = Schema.Struct({
  ...Outcome.fields,
  duplicates: Count.annotate({ description: "How many were skipped: an own route has the same positions" })
}).annotate(
  named("RouteImportOutcome", "How many routes an import created, took out of the trash and left as they were.", {
    ...OUTCOME,
    duplicates: 1
  })
)
export type RouteOutcome = typeof RouteOutcome.Type

/** `restored` counts what was in the trash; `restored` preferences had not been set in the account. */
export const ImportReport = Schema.Struct({
  routes: RouteOutcome,
  collections: Outcome,
  preferences: Schema.Literals(["restored", "unchanged"]).annotate({ description: "What became of the settings" })
}).annotate(named("ImportReport", "What an import of an archive did.", {
  routes: { ...OUTCOME, duplicates: 1 },
  collections: { created: 1, restored: 0, unchanged: 0 },
  preferences: "unchanged"
}))
export type ImportReport = typeof ImportReport.Type
