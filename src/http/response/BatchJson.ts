import { Result } from "effect"
import type { StoredCollection } from "../../schema/Collection.ts"
import type { ServiceError } from "../../schema/Errors.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { type JsonParts, textOf, withMembers } from "../../services/bodies/JsonText.ts"
import { collectionJson, collectionTag } from "./CollectionJson.ts"
import { encodeError } from "./ErrorResponse.ts"
import { routeJson, routeTag } from "./RouteJson.ts"
import { jsonResponse } from "./Versioned.ts"

export interface BatchOutcome {
  readonly status: number
  readonly etag?: string
  readonly route?: JsonParts
  readonly collection?: string
}

export const done: BatchOutcome = { status: 200 }

/** Without the geometry: a hundred changed routes may have more of it than a response. */
export const routeOutcome = (route: StoredRoute, status = 200): BatchOutcome => ({
  status,
  etag: routeTag(route),
  route: routeJson({ ...route, geometry: undefined, polyline6: undefined, cues: undefined })
})

export const collectionOutcome = (collection: StoredCollection): BatchOutcome => ({
  status: 200,
  etag: collectionTag(collection),
  collection: collectionJson(collection)
})

const succeeded = (op: string, { collection, etag, route, status }: BatchOutcome) =>
  textOf(withMembers(JSON.stringify({ op, status, etag }), ["route", route], ["collection", collection]))

const failed = (op: string, error: ServiceError) =>
  JSON.stringify({ op, status: error.statusCode, error: encodeError(error) })

export const batchResults = (
  operations: ReadonlyArray<{ readonly op: string }>,
  results: ReadonlyArray<Result.Result<BatchOutcome, ServiceError>>
) => {
  const texts = results.map((result, index) => {
    const op = operations[index]?.op ?? ""
    return Result.isSuccess(result) ? succeeded(op, result.success) : failed(op, result.failure)
  })
  return jsonResponse(`{"results":[${texts.join(",")}]}`)
}
