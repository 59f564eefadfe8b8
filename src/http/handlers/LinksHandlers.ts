import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { CollectionId, LinkId, RouteId } from "../../schema/Ids.ts"
import type { ShareLinkPatch } from "../../schema/ShareLink.ts"
import { Collections } from "../../services/collections/Collections.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { RouteViews } from "../../services/routes/RouteViews.ts"
import { type Shared, ShareLinks } from "../../services/sharing/ShareLinks.ts"
import { Caller } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { success } from "../api/Success.ts"
import { deletingLink, replacingToken, requireConfirmed } from "../request/Confirmation.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { bodyDigest } from "../request/RequestBodies.ts"
import { makeRequestedPage } from "../request/RequestedPage.ts"
import { jsonPage, sliceOf } from "../response/Pagination.ts"
import { worded } from "../response/PublicErrors.ts"
import { makeVersionedCollection, makeVersionedRoute } from "../response/ResourceJson.ts"
import { jsonResponse, locatedAt, versionedResponse } from "../response/Versioned.ts"

const route = (id: RouteId): Shared => ({ kind: "route", id })

const collection = (id: CollectionId): Shared => ({ kind: "collection", id })

export const LinksHandlers = HttpApiBuilder.group(
  Api,
  "links",
  Effect.fn(function*(handlers) {
    const collections = yield* Collections
    const idempotency = yield* Idempotency
    const links = yield* ShareLinks
    const requestedPage = yield* makeRequestedPage
    const routes = yield* Routes
    const versionedCollection = yield* makeVersionedCollection
    const versionedRoute = yield* makeVersionedRoute
    const views = yield* RouteViews

    type Listing = Parameters<typeof requestedPage>[0]
    const list = Effect.fnUntraced(function*(shared: Shared, { query, request }: Listing) {
      const { userId } = yield* Caller
      const page = yield* requestedPage({ query, request }, Option.some(userId))
      const all = yield* links.list(userId, shared)
      return jsonPage(request.url, page, sliceOf(all, page, { positionOf: ({ id }) => [id, id], isDescending: true }))
    }, worded)

    type Creation = Parameters<typeof idempotency.once>[1]
    const create = Effect.fnUntraced(
      function*(shared: Shared, call: Creation, link: Parameters<typeof links.create>[2]) {
        const { userId } = yield* Caller
        const made = links.create(userId, shared, link)
        const response = Effect.map(made, (link) => {
          const headers = locatedAt(`/${shared.kind}s/${shared.id}/links/${link.id}`)
          return jsonResponse(JSON.stringify(link), { status: 201, headers })
        })
        return yield* idempotency.once(userId, call, yield* bodyDigest, response)
      },
      worded
    )

    const change = (shared: Shared, link: LinkId, patch: ShareLinkPatch) =>
      Effect.flatMap(Caller, ({ userId }) => worded(links.change(userId, shared, link, patch)))

    type Headers = Parameters<typeof requireConfirmed>[1]
    const remove = Effect.fnUntraced(function*(shared: Shared, id: LinkId, headers: Headers) {
      const caller = yield* Caller
      const impact = Effect.map(
        links.get(caller.userId, shared, id),
        ({ label }) => deletingLink(shared.kind, label, id)
      )
      yield* requireConfirmed(caller, headers, impact)
      yield* links.remove(caller.userId, shared, id)
      return success
    }, worded)

    return handlers.handleAll({
      listOfRoute: ({ params, query, request }) => list(route(params.id), { query, request }),
      createForRoute: ({ headers, params, payload, request }) =>
        create(route(params.id), { headers, request }, payload),
      changeOfRoute: ({ params, payload }) => change(route(params.id), params.linkId, payload),
      removeOfRoute: ({ headers, params }) => remove(route(params.id), params.linkId, headers),
      replaceRouteShareToken: Effect.fnUntraced(function*({ headers, params: { id } }) {
        const caller = yield* Caller
        const { userId } = caller
        const impact = Effect.map(routes.requireOwn(userId, id), ({ name }) => replacingToken("route", name, id))
        yield* requireConfirmed(caller, headers, impact)
        const read = Effect.andThen(views.refresh(userId), routes.get(id, Option.some(userId), "full"))
        return versionedResponse(versionedRoute(yield* links.replaceShareToken(userId, route(id), read)))
      }, worded),
      listOfCollection: ({ params, query, request }) => list(collection(params.id), { query, request }),
      createForCollection: ({ headers, params, payload, request }) =>
        create(collection(params.id), { headers, request }, payload),
      changeOfCollection: ({ params, payload }) => change(collection(params.id), params.linkId, payload),
      removeOfCollection: ({ headers, params }) => remove(collection(params.id), params.linkId, headers),
      replaceCollectionShareToken: Effect.fnUntraced(function*({ headers, params: { id } }) {
        const caller = yield* Caller
        const { userId } = caller
        const own = collections.requireOwn(userId, id)
        yield* requireConfirmed(caller, headers, Effect.map(own, ({ name }) => replacingToken("collection", name, id)))
        const read = collections.get(id, Option.some(userId))
        return versionedResponse(
          versionedCollection(yield* links.replaceShareToken(userId, collection(id), read))
        )
      }, worded)
    })
  })
)
