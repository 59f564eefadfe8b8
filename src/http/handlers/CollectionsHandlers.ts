import { Effect, Option, type Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { StoredCollection } from "../../schema/Collection.ts"
import type { CollectionId, UserId } from "../../schema/Ids.ts"
import { Lanes } from "../../services/admission/Lanes.ts"
import { CollectionTrash } from "../../services/collections/CollectionRows.ts"
import { Collections } from "../../services/collections/Collections.ts"
import type { StaleVersion } from "../../services/DomainErrors.ts"
import type { ExpectedVersion } from "../../services/routes/Routes.ts"
import { Caller, Viewer } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import type { MatchHeader } from "../api/Requests.ts"
import { success } from "../api/Success.ts"
import { deleting, publishing, requireConfirmed } from "../request/Confirmation.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { bodyDigest } from "../request/RequestBodies.ts"
import { makeRequestedPage } from "../request/RequestedPage.ts"
import { worded } from "../response/PublicErrors.ts"
import { collectionPage, makeVersionedCollection, routePage } from "../response/ResourceJson.ts"
import {
  createdResponse,
  expectedVersions,
  readResponse,
  versionedResponse,
  withCurrentTag
} from "../response/Versioned.ts"
import { currentCollection } from "./Current.ts"
import { trashHandlers } from "./TrashHandlers.ts"

export const CollectionsHandlers = HttpApiBuilder.group(
  Api,
  "collections",
  Effect.fn(function*(handlers) {
    const collections = yield* Collections
    const trash = yield* CollectionTrash
    const idempotency = yield* Idempotency
    const { lists, publicLists } = yield* Lanes
    const requestedPage = yield* makeRequestedPage

    const viewer = Effect.map(Viewer, Option.map(({ userId }) => userId))

    const current = yield* currentCollection
    const versionedCollection = yield* makeVersionedCollection

    const publishingOwn = (owner: UserId, id: CollectionId) =>
      Effect.map(collections.requireOwn(owner, id), ({ name }) => publishing("collection", name, id))

    const deletingOwn = (owner: UserId, id: CollectionId) =>
      Effect.map(collections.requireOwn(owner, id), ({ name }) => deleting("collection", name, id))

    const changed = <A, E>(
      change: (
        owner: UserId,
        id: CollectionId,
        value: A,
        expected: ExpectedVersion
      ) => Effect.Effect<StoredCollection, E | StaleVersion>
    ) =>
      Effect.fnUntraced(function*({ headers, params: { id } }: ChangeCall, value: A) {
        const { userId } = yield* Caller
        const changing = change(userId, id, value, expectedVersions(headers))
        return versionedResponse(versionedCollection(yield* withCurrentTag(changing, current(userId, id))))
      })

    const update = changed(collections.update)
    const setRoutes = changed(collections.setRoutes)
    const addRoute = changed(collections.addRoute)
    const removeRoute = changed(collections.removeRoute)

    return handlers.handleAll({
      ...trashHandlers("collection", trash, (collection) => versionedResponse(versionedCollection(collection))),
      list: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = yield* requestedPage({ query, request }, Option.some(userId))
        return collectionPage(request.url, page, yield* lists(collections.list(userId, query.q, page)))
      }, worded),
      create: Effect.fnUntraced(function*({ headers, payload, request }) {
        const caller = yield* Caller
        if (payload.visibility === "public") {
          const addable = collections.requireAddable(caller.userId, payload.routeIds ?? [])
          yield* requireConfirmed(caller, headers, Effect.as(addable, publishing("collection", payload.name)))
        }
        return yield* idempotency.once(
          caller.userId,
          { headers, request },
          yield* bodyDigest,
          Effect.map(
            collections.create(caller.userId, payload),
            (collection) => createdResponse(versionedCollection(collection))
          )
        )
      }, worded),
      update: Effect.fnUntraced(function*(call) {
        const caller = yield* Caller
        if (call.payload.visibility === "public") {
          yield* requireConfirmed(caller, call.headers, publishingOwn(caller.userId, call.params.id))
        }
        return yield* update(call, call.payload)
      }, worded),
      remove: Effect.fnUntraced(function*({ headers, params: { id } }) {
        const caller = yield* Caller
        yield* requireConfirmed(caller, headers, deletingOwn(caller.userId, id))
        const change = collections.remove(caller.userId, id, expectedVersions(headers))
        yield* withCurrentTag(change, current(caller.userId, id))
        return success
      }, worded),
      listDeleted: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = yield* requestedPage({ query, request }, Option.some(userId))
        return collectionPage(request.url, page, yield* lists(trash.list(userId, page)))
      }, worded),
      setRoutes: (call) => worded(setRoutes(call, call.payload.routeIds)),
      addRoute: (call) => worded(addRoute(call, call.payload)),
      removeRoute: (call) => worded(removeRoute(call, call.params.routeId)),
      get: Effect.fnUntraced(function*({ headers, params }) {
        return readResponse(versionedCollection(yield* collections.get(params.ref, yield* viewer)), headers)
      }, worded),
      routes: Effect.fnUntraced(function*({ params, query, request }) {
        const caller = yield* viewer
        const page = yield* requestedPage({ query, request }, caller)
        const found = collections.routes(params.ref, caller, page, query.geometry ?? "full")
        const routes = yield* (Option.isNone(caller) ? publicLists(found) : lists(found))
        return yield* routePage(request.url, page, routes)
      }, worded),
      listByUser: Effect.fnUntraced(function*({ params, query, request }) {
        const page = yield* requestedPage({ query, request }, Option.none())
        return collectionPage(request.url, page, yield* collections.byUser(params.userId, page))
      }, worded)
    })
  })
)

interface ChangeCall {
  readonly headers: Schema.Struct.Type<typeof MatchHeader>
  readonly params: { readonly id: CollectionId }
}
