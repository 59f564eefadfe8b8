import { Schema } from "effect"
import { ClientId, CollectionId, RouteId, SHARE_TOKEN, ShareToken } from "./Ids.ts"
import { CreatedAt, UpdatedAt, upTo } from "./Measures.ts"
import { named } from "./Named.ts"
import { PageUrl, TRASHED, type Trashed, TRASHED_AT, Visibility } from "./Resource.ts"
import { AllowDownload } from "./ShareLink.ts"
import { trimmedText } from "./Text.ts"
import { USER_SUMMARY, UserSummary } from "./User.ts"

export const MAX_ROUTES = 1000

/** The trash of an account, which counts for no quota, has at most this many collections. */
export const MAX_IN_TRASH = 1000

const Name = trimmedText(1, 100)
const Description = trimmedText(0, 255)

const IDS = "The ids of routes, in order"

export const RouteIds = Schema.Array(RouteId).check(
  Schema.isMaxLength(MAX_ROUTES),
  Schema.makeFilter((ids) => new Set(ids).size === ids.length || "Expected each route at most once", {
    toJsonSchema: () => ({ uniqueItems: true })
  })
).annotate({ description: IDS })

const description = Schema.optionalKey(Schema.NullOr(Description))

export const NewCollection = Schema.Struct({
  name: Name,
  description,
  visibility: Schema.optionalKey(Schema.NullOr(Visibility)),
  routeIds: Schema.optionalKey(Schema.NullOr(RouteIds)),
  clientId: Schema.optionalKey(Schema.NullOr(ClientId))
}).annotate(
  named("CollectionInput", "A collection to be made.", { name: "Alpine passes", routeIds: [RouteId.make(12)] })
)
export type NewCollection = typeof NewCollection.Type

export const CollectionPatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  description,
  visibility: Schema.optionalKey(Visibility)
}).annotate(
  named("CollectionPatch", "What to change of a collection.", { name: "Alpine passes by bike", description: null })
)
export type CollectionPatch = typeof CollectionPatch.Type

export const Addition = Schema.Struct({
  routeId: RouteId,
  position: Schema.optionalKey(
    Schema.NullOr(Schema.Int.check(upTo(MAX_ROUTES))).annotate({
      description: "At which place among the routes that the owner sees, from 0; at the end if absent"
    })
  )
}).annotate(named("Addition", "A route to be added to a collection.", { routeId: RouteId.make(12), position: 0 }))
export type Addition = typeof Addition.Type

const COLLECTION = {
  id: CollectionId.make(4),
  name: "Alpine passes",
  visibility: "private",
  routeIds: [RouteId.make(12)],
  routeCount: 1,
  shareToken: SHARE_TOKEN,
  user: USER_SUMMARY,
  createdAt: "2025-06-01T08:30:00.000Z",
  updatedAt: "2025-06-01T08:30:00.000Z"
} as const

/** `routeIds` and `routeCount` leave out private routes of others. */
export const Collection = Schema.Struct({
  id: CollectionId,
  name: Schema.String.annotate({ description: "The name of the collection" }),
  description: Schema.optionalKey(Schema.String.annotate({ description: "A text of one's own" })),
  visibility: Visibility,
  routeIds: Schema.Array(RouteId).annotate({ description: IDS }),
  routeCount: Schema.Int.annotate({ description: "How many routes there are in `routeIds`" }),
  shareToken: Schema.optionalKey(
    ShareToken.annotate({
      description:
        "For its owner, and for anyone who opened the collection by it; for others who opened it by a link, the "
        + "token of that link"
    })
  ),
  allowDownload: AllowDownload,
  user: UserSummary,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
  url: PageUrl
}).annotate(named("Collection", "A collection: an ordered list of routes.", COLLECTION))
export type Collection = typeof Collection.Type

export const DeletedCollection = Schema.Struct({ ...Collection.fields, ...TRASHED }).annotate(
  named("DeletedCollection", "A collection in the trash.", { ...COLLECTION, ...TRASHED_AT })
)

export interface StoredCollection extends Collection {
  readonly version: number
}

export type DeletedStoredCollection = StoredCollection & Trashed
