import type { StoredCollection } from "../../schema/Collection.ts"
import type { PageOf } from "../../schema/Page.ts"
import type { RequestedPage } from "../request/RequestedPage.ts"
import { pageHeaders } from "./Pagination.ts"
import { jsonResponse, type Versioned, weakTag } from "./Versioned.ts"

export const collectionJson = (collection: StoredCollection): string =>
  JSON.stringify({ ...collection, version: undefined })

/** The tag covers the whole JSON, which also changes with the caller and with its routes. */
export const versionedCollection = (collection: StoredCollection): Versioned => {
  const json = collectionJson(collection)
  return {
    path: `/api/v1/collections/${collection.id}`,
    etag: weakTag(String(collection.version), json),
    json: () => json
  }
}

export const collectionPage = (url: string, page: RequestedPage, found: PageOf<StoredCollection>) =>
  jsonResponse(`[${found.items.map(collectionJson).join(",")}]`, { headers: pageHeaders(url, page, found) })
