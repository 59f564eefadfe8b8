import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { StoredCollection } from "../../schema/Collection.ts"
import { Conflict } from "../../schema/Errors.ts"
import type { CollectionId, UserId } from "../../schema/Ids.ts"
import { type Page, type PageOf, pageOf } from "../../schema/Page.ts"
import { Collections } from "../../services/collections/Collections.ts"
import { Bulkheads } from "../../services/limits/Bulkheads.ts"
import { Api } from "../api/Api.ts"
import { Caller, Viewer } from "../api/Authentication.ts"
import { success } from "../api/Success.ts"
import { BodyParts } from "../request/BodyParts.ts"
import { isConfirmed, unconfirmed } from "../request/Confirmation.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { collectionAnswer, collectionRead, collectionsAnswer, collectionTag } from "../response/CollectionResponse.ts"
import { expectedVersions } from "../response/ETag.ts"
import { pageHeaders } from "../response/Pagination.ts"
import { routesAnswer } from "../response/RouteResponse.ts"

export const CollectionsHandlers = HttpApiBuilder.group(
  Api,
  "collections",
  Effect.fn(function*(handlers) {
    const collections = yield* Collections
    const idempotency = yield* Idempotency
    const { lists } = yield* Bulkheads

    const viewer = Effect.map(Viewer, Option.map(({ userId }) => userId))

    // A client that was too late hears what there is now, so that it can look at it and decide.
    const withCurrentTag = <A, E, R>(owner: UserId, id: CollectionId, change: Effect.Effect<A, E | Conflict, R>) =>
      Effect.catchIf(change, isStale, ({ message }) =>
        Effect.flatMap(
          collections.get(id, Option.some(owner)),
          (collection) => Effect.fail(new Conflict({ message, details: { etag: collectionTag(collection) } }))
        ))

    const changed = Effect.fnUntraced(function*(
      { headers, params: { id } }: { readonly headers: IfMatch; readonly params: { readonly id: CollectionId } },
      change: ReturnType<typeof collections.update>
    ) {
      const { userId } = yield* Caller
      const expected = expectedVersions(headers["if-match"])
      return collectionAnswer(yield* withCurrentTag(userId, id, change(userId, id, expected)))
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = pageOf(query)
        return pageAnswer(request.url, page, yield* lists(collections.list(userId, page)))
      }),
      create: Effect.fnUntraced(function*({ payload, request }) {
        const caller = yield* Caller
        if (payload.visibility === "public" && !isConfirmed(caller, request)) return yield* unpublished(payload.name)
        return yield* idempotency.once(
          caller.userId,
          request,
          yield* BodyParts,
          Effect.map(collections.create(caller.userId, payload), (collection) =>
            collectionAnswer(collection, {
              status: 201,
              headers: { location: `/api/v1/collections/${collection.id}` }
            }))
        )
      }),
      update: Effect.fnUntraced(function*(call) {
        const caller = yield* Caller
        if (call.payload.visibility === "public" && !isConfirmed(caller, call.request)) {
          const { id, name } = yield* collections.requireOwn(caller.userId, call.params.id)
          return yield* unpublished(name, id)
        }
        return yield* changed(call, collections.update(call.payload))
      }),
      remove: Effect.fnUntraced(function*({ headers, params: { id }, request }) {
        const caller = yield* Caller
        if (!isConfirmed(caller, request)) {
          const { name } = yield* collections.requireOwn(caller.userId, id)
          return yield* unconfirmed({
            action: "collection.delete",
            resource: "collection",
            id,
            summary: `"${name}" will be deleted for everyone; its routes stay.`
          })
        }
        const expected = expectedVersions(headers["if-match"])
        yield* withCurrentTag(caller.userId, id, collections.remove(caller.userId, id, expected))
        return success
      }),
      setRoutes: (call) => changed(call, collections.setRoutes(call.payload.routeIds)),
      addRoute: (call) => changed(call, collections.addRoute(call.payload.routeId, call.payload.position ?? undefined)),
      removeRoute: (call) => changed(call, collections.removeRoute(call.params.routeId)),
      get: Effect.fnUntraced(function*({ headers, params }) {
        const collection = yield* collections.get(params.ref, yield* viewer)
        return collectionRead(collection, headers["if-none-match"])
      }),
      routes: Effect.fnUntraced(function*({ params, query, request }) {
        const page = pageOf(query)
        const routes = yield* lists(collections.routes(params.ref, yield* viewer, page, query.geometry ?? "full"))
        return yield* routesAnswer(routes.items, pageHeaders(request.url, page, routes))
      }),
      listByUser: Effect.fnUntraced(function*({ params, query, request }) {
        const page = pageOf(query)
        return pageAnswer(request.url, page, yield* lists(collections.byUser(params.userId, page)))
      })
    })
  })
)

interface IfMatch {
  readonly "if-match"?: string
}

/** A collection that is full is a conflict too, and no question of versions. */
const isStale = (error: unknown): error is Conflict =>
  error instanceof Conflict && error.details?.["version"] !== undefined

const unpublished = (name: string, id?: CollectionId) =>
  unconfirmed({
    action: "collection.publish",
    resource: "collection",
    ...(id === undefined ? {} : { id }),
    summary: `Anybody will be able to find and open "${name}".`
  })

const pageAnswer = (url: string, page: Page, found: PageOf<StoredCollection>) =>
  collectionsAnswer(found.items, { headers: pageHeaders(url, page, found) })
