import { Effect } from "effect"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { type JsonParts, withMembers } from "../../services/bodies/JsonText.ts"
import type { StoredChange } from "../../services/sync/ChangedRows.ts"
import type { StoredChanges } from "../../services/sync/ChangeFeed.ts"
import { piecedResponse } from "../request/BodyPieces.ts"
import { collectionJson } from "./CollectionJson.ts"
import { jsonArray, routeJson } from "./RouteJson.ts"

const upserted = (type: "route" | "collection", { id, updatedAt, version }: {
  readonly id: number
  readonly updatedAt: string
  readonly version: number
}) => JSON.stringify({ type, id, change: "upserted", version, at: updatedAt })

const changeJson = (change: StoredChange): JsonParts => {
  switch (change.type) {
    case "route":
      return withMembers(upserted("route", change.route), ["route", routeJson(change.route)])
    case "collection":
      return withMembers(upserted("collection", change.collection), ["collection", collectionJson(change.collection)])
    case "deleted": {
      const { deletedAt, id, of, version } = change
      return [JSON.stringify({ type: of, id, change: "deleted", version, at: deletedAt })]
    }
  }
}

export const changePage = Effect.fnUntraced(function*({ changes, cursor, hasMore }: StoredChanges) {
  const after = `,${JSON.stringify({ cursor, hasMore }).slice(1)}`
  const pieces = yield* jsonArray(changes, changeJson, { before: "{\"changes\":", after })
  return piecedResponse(pieces, { contentType: MEDIA_TYPES.json })
})
