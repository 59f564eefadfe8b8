import { Duration, Schema, SchemaGetter } from "effect"
import { Collection } from "./Collection.ts"
import { GeometryForm } from "./Geometry.ts"
import { Timestamp } from "./Measures.ts"
import { decimal, DEFAULT_LIMIT, knownQuery, MAX_LIMIT } from "./Page.ts"
import { Route } from "./Route.ts"

export const CHANGE_TYPES = ["route", "collection"] as const
export type ChangeType = (typeof CHANGE_TYPES)[number]

export const LONGEST_CHANGE_WAIT = Duration.seconds(30)

/** A cursor from before a deletion expires after this time. */
export const TOMBSTONE_RETENTION = Duration.days(90)

const INCLUDED: Readonly<Record<string, ReadonlyArray<ChangeType>>> = {
  routes: ["route"],
  collections: ["collection"],
  "routes,collections": CHANGE_TYPES,
  "collections,routes": CHANGE_TYPES
}

const Include = Schema.Literals(Object.keys(INCLUDED)).annotate({
  description: "What to read, separated by a comma; both if absent"
}).pipe(
  Schema.decodeTo(Schema.Array(Schema.Literals(CHANGE_TYPES)), {
    decode: SchemaGetter.transform((text) => INCLUDED[text] ?? CHANGE_TYPES),
    encode: SchemaGetter.transform((types) => types.map((type) => `${type}s`).join(","))
  })
)

export const SyncQuery = knownQuery({
  cursor: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,1024}$/u, { expected: "the cursor of the last response" }))
      .annotate({ description: "The `cursor` of the last response; the whole account without one" })
  ),
  limit: Schema.optionalKey(decimal(1, MAX_LIMIT, `How many changes at most; ${DEFAULT_LIMIT} if absent`)),
  include: Schema.optionalKey(Include),
  geometry: Schema.optionalKey(GeometryForm),
  wait: Schema.optionalKey(
    decimal(
      0,
      Duration.toSeconds(LONGEST_CHANGE_WAIT),
      "For how many seconds to wait where nothing has changed; does not wait if absent"
    )
  )
})

const DELETION = { type: "route", id: 12, change: "deleted", version: 3, at: "2025-06-02T10:00:00.000Z" } as const

const Change = Schema.Struct({
  type: Schema.Literals(CHANGE_TYPES).annotate({ description: "What changed" }),
  id: Schema.Int.annotate({ description: "The id of the route or collection" }),
  change: Schema.Literals(["upserted", "deleted"]).annotate({
    description: "`upserted`: created, changed or restored. `deleted`: moved to the trash or erased"
  }),
  version: Schema.Int.annotate({ description: "The version; a change of what it is derived from keeps it" }),
  etag: Schema.optionalKey(Schema.String.annotate({
    description: "The `ETag` of what is there, which `If-Match` and `ifMatch` take"
  })),
  at: Timestamp.annotate({ description: "The `updatedAt` of what is there, or when it was deleted" }),
  route: Schema.optionalKey(Route),
  collection: Schema.optionalKey(Collection)
}).annotate({ identifier: "SyncChange", description: "What became of a route or collection.", examples: [DELETION] })

export const ChangePage = Schema.Struct({
  changes: Schema.Array(Change).annotate({ description: "In order" }),
  cursor: Schema.String.annotate({ description: "For the next call" }),
  hasMore: Schema.Boolean.annotate({ description: "Whether there are more changes now" })
}).annotate({
  identifier: "ChangePage",
  description: "A page of what changed.",
  examples: [{ changes: [DELETION], cursor: "AUvkzyqN7cS2T7oO1cXh0nsi...", hasMore: false }]
})
export type ChangePage = typeof ChangePage.Type
