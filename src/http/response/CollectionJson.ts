import { Effect } from "effect"
import type { StoredCollection } from "../../schema/Collection.ts"
import type { PageOf } from "../../schema/Page.ts"
import { withMembers } from "../../services/bodies/JsonText.ts"
import type { RequestedPage } from "../request/RequestedPage.ts"
import { pageLinks } from "./PageLinks.ts"
import { jsonPage } from "./Pagination.ts"
import { type Versioned, weakTag } from "./Versioned.ts"

export const collectionJson = (collection: StoredCollection): string =>
  JSON.stringify({ ...collection, version: undefined })

/** Covers the whole JSON, which also changes with the caller and with its routes. */
export const collectionTag = (collection: StoredCollection): string =>
  weakTag(String(collection.version), collectionJson(collection))

export const makeVersionedCollection = Effect.map(
  pageLinks,
  ({ collectionUrl }) => (collection: StoredCollection): Versioned => ({
    path: `/api/v1/collections/${collection.id}`,
    etag: collectionTag(collection),
    json: () => withMembers(collectionJson(collection), ["url", JSON.stringify(collectionUrl(collection))])
  })
)

export const collectionPage = (url: string, page: RequestedPage, found: PageOf<StoredCollection>) =>
  jsonPage(url, page, found, collectionJson)
