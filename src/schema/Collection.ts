import { Schema } from "effect"
import { CollectionId, RouteId, ShareToken } from "./Ids.ts"
import { upTo } from "./Measures.ts"
import { PageUrl } from "./PageUrl.ts"
import { AllowDownload } from "./ShareLink.ts"
import { trimmedText } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import { TRASHED, type Trashed } from "./Trash.ts"
import { UserSummary } from "./User.ts"
import { Visibility } from "./Visibility.ts"

export const MAX_ROUTES = 1000

/** Of an account: the trash counts for no quota. */
export const MAX_IN_TRASH = 1000

const Name = trimmedText(1, 100)
const Description = trimmedText(0, 255)

export const RouteIds = Schema.Array(RouteId).check(
  Schema.isMaxLength(MAX_ROUTES),
  Schema.makeFilter((ids) => new Set(ids).size === ids.length || "Expected each route at most once", {
    toJsonSchema: () => ({ uniqueItems: true })
  })
)

const description = Schema.optionalKey(Schema.NullOr(Description))

export const NewCollection = Schema.Struct({
  name: Name,
  description,
  visibility: Schema.optionalKey(Schema.NullOr(Visibility)),
  routeIds: Schema.optionalKey(Schema.NullOr(RouteIds))
}).annotate({ identifier: "CollectionInput" })
export type NewCollection = typeof NewCollection.Type

export const CollectionPatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  description,
  visibility: Schema.optionalKey(Visibility)
}).annotate({ identifier: "CollectionPatch" })
export type CollectionPatch = typeof CollectionPatch.Type

export const Addition = Schema.Struct({
  routeId: RouteId,
  position: Schema.optionalKey(
    Schema.NullOr(Schema.Int.check(upTo(MAX_ROUTES)))
  )
}).annotate({ identifier: "Addition" })
export type Addition = typeof Addition.Type

/** `routeIds` and `routeCount` leave out private routes of others. */
export const Collection = Schema.Struct({
  id: CollectionId,
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  visibility: Visibility,
  routeIds: Schema.Array(RouteId),
  routeCount: Schema.Int,
  shareToken: Schema.optionalKey(
    ShareToken.annotate({
      description:
        "For its owner, and for anyone who opened the collection by it; for others who opened it by a link, the "
        + "token of that link"
    })
  ),
  allowDownload: AllowDownload,
  user: UserSummary,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  url: PageUrl
}).annotate({ identifier: "Collection" })
export type Collection = typeof Collection.Type

export const DeletedCollection = Schema.Struct({ ...Collection.fields, ...TRASHED }).annotate({
  identifier: "DeletedCollection"
})

export interface StoredCollection extends Collection {
  readonly version: number
}

export type DeletedStoredCollection = StoredCollection & Trashed
