import { Effect, Option } from "effect"
import type { CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import { Collections } from "../../services/collections/Collections.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { collectionFacts, collectionTag, routeFacts, routeTag } from "../response/ResourceJson.ts"

/** A conflict has the owner's route as it is now, without its line, and its entity tag. */
export const currentRoute = Effect.map(
  Routes,
  (routes) => (owner: UserId, id: RouteId) =>
    routes.get(id, Option.some(owner), "none").pipe(
      // Nothing is cut for the owner.
      Effect.catchTag("Overloaded", Effect.die),
      Effect.map((route) => ({ etag: routeTag(route), current: routeFacts(route) }))
    )
)

export const currentCollection = Effect.map(
  Collections,
  (collections) => (owner: UserId, id: CollectionId) =>
    Effect.map(collections.get(id, Option.some(owner)), (collection) => ({
      etag: collectionTag(collection),
      current: collectionFacts(collection)
    }))
)
