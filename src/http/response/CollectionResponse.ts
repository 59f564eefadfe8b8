import { HttpServerResponse } from "effect/http"
import { crc32 } from "node:zlib"
import type { StoredCollection } from "../../schema/Collection.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { isKnown } from "./ETag.ts"

const toJson = (collection: StoredCollection): string => JSON.stringify({ ...collection, version: undefined })

/** The version, for `If-Match`, and what it shows: who asks and what became of its routes change that. */
const tagOf = ({ version }: StoredCollection, json: string) => `W/"${version}-${crc32(json).toString(16)}"`

export const collectionTag = (collection: StoredCollection): string => tagOf(collection, toJson(collection))

const json = (body: string, options?: HttpServerResponse.Options) =>
  HttpServerResponse.text(body, { ...options, contentType: MEDIA_TYPES.json })

/** A collection with its entity tag. */
export const collectionAnswer = (collection: StoredCollection, options: HttpServerResponse.Options = {}) => {
  const body = toJson(collection)
  return json(body, { ...options, headers: { ...options.headers, etag: tagOf(collection, body) } })
}

/** The same for a read: without a body for whoever has it already. */
export const collectionRead = (collection: StoredCollection, ifNoneMatch: string | undefined) => {
  const etag = collectionTag(collection)
  return isKnown(ifNoneMatch, etag)
    ? HttpServerResponse.empty({ status: 304, headers: { etag } })
    : collectionAnswer(collection)
}

export const collectionsAnswer = (
  collections: ReadonlyArray<StoredCollection>,
  options?: HttpServerResponse.Options
) => json(`[${collections.map(toJson).join(",")}]`, options)
