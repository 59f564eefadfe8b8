import { Duration, Schema, SchemaGetter } from "effect"
import { Collection } from "./Collection.ts"
import { GeometryForm } from "./Geometry.ts"
import { CollectionId, RouteId } from "./Ids.ts"
import { Timestamp } from "./Measures.ts"
import { named } from "./Named.ts"
import { decimal, DEFAULT_LIMIT, knownQuery, MAX_LIMIT } from "./Page.ts"
import { ZONE, ZoneList } from "./PrivacyZone.ts"
import { Route } from "./Route.ts"
import { LINK, ShareLink } from "./ShareLink.ts"
import { USER, User } from "./User.ts"

/** An account is read in the order of these types. */
export const CHANGE_TYPES = ["route", "collection", "link", "account"] as const
export type ChangeType = (typeof CHANGE_TYPES)[number]

/** Clients that name no types may know no others. */
export const DEFAULT_TYPES: ReadonlyArray<ChangeType> = ["route", "collection"]

export const LONGEST_CHANGE_WAIT = Duration.seconds(30)

/** A cursor from before a deletion expires after this time. */
export const TOMBSTONE_RETENTION = Duration.days(90)

const INCLUDED: Readonly<Record<string, ReadonlyArray<ChangeType>>> = {
  routes: ["route"],
  collections: ["collection"],
  "routes,collections": DEFAULT_TYPES,
  "collections,routes": DEFAULT_TYPES,
  everything: CHANGE_TYPES
}

const Include = Schema.Literals(Object.keys(INCLUDED)).annotate({
  description:
    "What to read: routes, collections, or both as if it is absent; or `everything`, which is also links and the "
    + "account's profile, preferences and privacy zones"
}).pipe(
  Schema.decodeTo(Schema.Array(Schema.Literals(CHANGE_TYPES)), {
    decode: SchemaGetter.transform((text) => INCLUDED[text] ?? DEFAULT_TYPES),
    encode: SchemaGetter.transform((types) =>
      types.some((type) => !DEFAULT_TYPES.includes(type)) ? "everything" : types.map((type) => `${type}s`).join(",")
    )
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

export const SyncedLink = Schema.Struct({
  ...ShareLink.fields,
  token: Schema.optionalKey(
    ShareLink.fields.token.annotate({
      description: "The token itself; absent for a personal access token of scope `read`"
    })
  ),
  routeId: Schema.optionalKey(RouteId.annotate({ description: "The route that it opens" })),
  collectionId: Schema.optionalKey(CollectionId.annotate({ description: "The collection that it opens" }))
}).annotate(named("SyncedLink", "A link, with the id of the route or of the collection that it opens.", {
  ...LINK,
  routeId: RouteId.make(12)
}))
export type SyncedLink = typeof SyncedLink.Type

export const AccountSettings = Schema.Struct({
  name: User.fields.name,
  handle: User.fields.handle,
  avatar: User.fields.avatar,
  preferences: User.fields.preferences,
  zones: ZoneList.annotate({ description: "The privacy zones" })
}).annotate(named("AccountSettings", "What `PATCH /users/me` and `PUT /users/me/privacy-zones` have set.", {
  name: USER.name,
  handle: USER.handle,
  preferences: USER.preferences,
  zones: [ZONE]
}))
export type AccountSettings = typeof AccountSettings.Type

const DELETION = { type: "route", id: 12, change: "deleted", version: 3, at: "2025-06-02T10:00:00.000Z" } as const

const Change = Schema.Struct({
  type: Schema.Literals(CHANGE_TYPES).annotate({ description: "What changed" }),
  id: Schema.Int.annotate({ description: "The id of the route, collection or link, or of the user" }),
  change: Schema.Literals(["upserted", "deleted"]).annotate({
    description: "`upserted`: created, changed or restored. `deleted`: moved to the trash or erased"
  }),
  version: Schema.Int.annotate({
    description:
      "The version; a change of what it is derived from keeps it. Of a link or the account a number that grows "
      + "with each change"
  }),
  etag: Schema.optionalKey(Schema.String.annotate({
    description: "The `ETag` of a route or collection that is there, which `If-Match` and `ifMatch` take"
  })),
  at: Timestamp.annotate({
    description:
      "The `updatedAt` of what is there, or when it was deleted. Of a link or the account when its change was first "
      + "read, or when it was made"
  }),
  route: Schema.optionalKey(Route),
  collection: Schema.optionalKey(Collection),
  link: Schema.optionalKey(SyncedLink),
  account: Schema.optionalKey(AccountSettings)
}).annotate(named("SyncChange", "What became of a route, a collection, a link or the account.", DELETION))

export const ChangePage = Schema.Struct({
  changes: Schema.Array(Change).annotate({ description: "In order" }),
  cursor: Schema.String.annotate({ description: "For the next call" }),
  hasMore: Schema.Boolean.annotate({ description: "Whether there are more changes now" })
}).annotate(named("ChangePage", "A page of what changed.", {
  changes: [DELETION],
  cursor: "AUvkzyqN7cS2T7oO1cXh0nsi...",
  hasMore: false
}))
export type ChangePage = typeof ChangePage.Type
