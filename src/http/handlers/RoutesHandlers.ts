import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Conflict } from "../../schema/Errors.ts"
import type { RouteId, UserId } from "../../schema/Ids.ts"
import { type Page, type PageOf, pageOf } from "../../schema/Page.ts"
import { DEFAULT_FORM } from "../../schema/PublicListing.ts"
import { MAX_DURATION, type NewRoute, type StoredRoute } from "../../schema/Route.ts"
import { durationOf } from "../../services/files/Times.ts"
import { Bulkheads } from "../../services/limits/Bulkheads.ts"
import { PublicRoutes } from "../../services/routes/PublicRoutes.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { RouteBin } from "../../services/routes/RouteTrash.ts"
import { Api } from "../api/Api.ts"
import { Caller, Viewer } from "../api/Authentication.ts"
import { success } from "../api/Success.ts"
import { BodyParts, makeWithGeometry } from "../request/BodyParts.ts"
import { isConfirmed, unconfirmed } from "../request/Confirmation.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { etagOf, expectedVersions } from "../response/ETag.ts"
import { pageHeaders } from "../response/Pagination.ts"
import { createdAnswer, routeAnswer, routeRead, routesAnswer } from "../response/RouteResponse.ts"

export const RoutesHandlers = HttpApiBuilder.group(
  Api,
  "routes",
  Effect.fn(function*(handlers) {
    const routes = yield* Routes
    const { lists } = yield* Bulkheads
    const publicRoutes = yield* PublicRoutes
    const bin = yield* RouteBin
    const idempotency = yield* Idempotency
    const withGeometry = yield* makeWithGeometry

    // A client that was too late hears what there is now, so that it can look at it and decide.
    const withCurrentTag = <A, E, R>(owner: UserId, id: RouteId, change: Effect.Effect<A, E | Conflict, R>) =>
      Effect.catchIf(
        change,
        isStale,
        ({ message }) =>
          Effect.flatMap(
            routes.get(id, Option.some(owner), "none"),
            (route) => Effect.fail(new Conflict({ message, details: { etag: etagOf(route, "full") } }))
          )
      )

    return handlers.handleAll({
      list: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = pageOf(query)
        return yield* pageAnswer(request.url, page, yield* lists(routes.list(userId, page, query.geometry ?? "full")))
      }),
      create: Effect.fnUntraced(function*({ payload, request }) {
        const caller = yield* Caller
        if (payload.visibility === "public" && !isConfirmed(caller, request)) {
          return yield* unpublished(payload.name)
        }
        const route = withDuration(yield* withGeometry(payload))
        return yield* idempotency.once(
          caller.userId,
          request,
          yield* BodyParts,
          Effect.map(routes.create(caller.userId, route), createdAnswer)
        )
      }),
      get: Effect.fnUntraced(function*({ headers, params, query }) {
        const viewer = Option.map(yield* Viewer, ({ userId }) => userId)
        const form = query.geometry ?? "full"
        return routeRead(yield* routes.get(params.ref, viewer, form), form, headers["if-none-match"])
      }),
      update: Effect.fnUntraced(function*({ headers, params: { id }, payload, request }) {
        const caller = yield* Caller
        if (payload.visibility === "public" && !isConfirmed(caller, request)) {
          const { name } = yield* routes.requireOwn(caller.userId, id)
          return yield* unpublished(name, id)
        }
        const expected = expectedVersions(headers["if-match"])
        return routeAnswer(
          yield* withCurrentTag(
            caller.userId,
            id,
            routes.update(caller.userId, id, yield* withGeometry(payload), expected)
          )
        )
      }),
      remove: Effect.fnUntraced(function*({ headers, params: { id }, request }) {
        const caller = yield* Caller
        if (!isConfirmed(caller, request)) {
          const { name } = yield* routes.requireOwn(caller.userId, id)
          return yield* unconfirmed({
            action: "route.delete",
            resource: "route",
            id,
            summary: `"${name}" will be deleted for everyone.`
          })
        }
        const expected = expectedVersions(headers["if-match"])
        yield* withCurrentTag(caller.userId, id, routes.remove(caller.userId, id, expected))
        return success
      }),
      listDeleted: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = pageOf(query)
        return yield* pageAnswer(request.url, page, yield* lists(bin.list(userId, page, query.geometry ?? "full")))
      }),
      restore: Effect.fnUntraced(function*({ params: { id }, request }) {
        const caller = yield* Caller
        const mayPublish = isConfirmed(caller, request)
        if (!mayPublish) {
          const { name, visibility } = yield* bin.requireOwn(caller.userId, id)
          if (visibility === "public") return yield* unpublished(name, id)
        }
        return routeAnswer(yield* bin.restore(caller.userId, id, { mayPublish }))
      }),
      listPublic: Effect.fnUntraced(function*({ query, request }) {
        const { gate = "indexable", geometry = DEFAULT_FORM[gate], limit: _, offset: __, ...filters } = query
        const page = pageOf(query)
        return yield* pageAnswer(
          request.url,
          page,
          yield* lists(publicRoutes.list({ ...filters, gate }, page, geometry))
        )
      }),
      listByUser: Effect.fnUntraced(function*({ params, query, request }) {
        const page = pageOf(query)
        const found = publicRoutes.byUser(params.userId, page, query.geometry ?? "full")
        return yield* pageAnswer(request.url, page, yield* lists(found))
      })
    })
  })
)

/** An account over its quota is a conflict too, and no question of versions. */
const isStale = (error: unknown): error is Conflict =>
  error instanceof Conflict && error.details?.["version"] !== undefined

/** A route without a duration has the time from its first to its last waypoint with a timestamp. */
const withDuration = <A extends Pick<NewRoute, "duration" | "waypoints">>(route: A): A => {
  const duration = route.duration ?? durationOf([route.waypoints], ({ timestamp }) => timestamp ?? undefined)
  return duration === undefined || duration > MAX_DURATION ? route : { ...route, duration }
}

const unpublished = (name: string, id?: RouteId) =>
  unconfirmed({
    action: "route.publish",
    resource: "route",
    ...(id === undefined ? {} : { id }),
    summary: `Anybody will be able to find and open "${name}".`
  })

const pageAnswer = (url: string, page: Page, found: PageOf<StoredRoute>) =>
  routesAnswer(found.items, pageHeaders(url, page, found))
