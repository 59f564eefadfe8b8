import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { samplesOf } from "../../schema/Elevation.ts"
import type { RouteId, UserId } from "../../schema/Ids.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { DEFAULT_FORM } from "../../schema/RouteSearch.ts"
import { Lanes } from "../../services/admission/Lanes.ts"
import { PublicRoutes } from "../../services/routes/PublicRoutes.ts"
import { OwnRoutes } from "../../services/routes/RouteLists.ts"
import { lineOf, requireOwnLine, type RouteChange, type RouteDraft } from "../../services/routes/RouteRow.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { RouteProfiles } from "../../services/routes/RouteSheets.ts"
import { RouteTrash } from "../../services/routes/RouteTrash.ts"
import { Caller, Viewer } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { success } from "../api/Success.ts"
import { deleting, publishing, requireConfirmed } from "../request/Confirmation.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { bodyDigest, makeWithGeometry } from "../request/RequestBodies.ts"
import { makeRequestedPage } from "../request/RequestedPage.ts"
import { jsonPage, sliceOf } from "../response/Pagination.ts"
import { worded } from "../response/PublicErrors.ts"
import { importedRoute, makeVersionedRoute, routePage, versionedProfile } from "../response/ResourceJson.ts"
import {
  createdResponse,
  expectedVersions,
  readForm,
  readResponse,
  versionedResponse,
  withCurrentTag
} from "../response/Versioned.ts"
import { currentRoute } from "./Current.ts"
import { routeBatch } from "./RouteBatch.ts"
import { makeWithElevations, swappedWarnings, withDuration } from "./RouteDefaults.ts"
import { trashHandlers } from "./TrashHandlers.ts"

export const RoutesHandlers = HttpApiBuilder.group(
  Api,
  "routes",
  Effect.fn(function*(handlers) {
    const routes = yield* Routes
    const { lists } = yield* Lanes
    const ownRoutes = yield* OwnRoutes
    const publicRoutes = yield* PublicRoutes
    const requestedPage = yield* makeRequestedPage
    const trash = yield* RouteTrash
    const profiles = yield* RouteProfiles
    const withElevations = yield* makeWithElevations
    const idempotency = yield* Idempotency
    const withGeometry = yield* makeWithGeometry

    const current = yield* currentRoute
    const versionedRoute = yield* makeVersionedRoute

    const publishingOwn = (owner: UserId, id: RouteId) =>
      Effect.map(routes.requireOwn(owner, id), ({ name }) => publishing("route", name, id))

    const deletingOwn = (owner: UserId, id: RouteId) =>
      Effect.map(routes.requireOwn(owner, id), ({ name }) => deleting("route", name, id))

    /** The engine may take seconds, so this comes before the transaction of a repeatable call. */
    const elevated = Effect.fnUntraced(function*(route: RouteDraft) {
      const line = lineOf(route.geometry)
      if (line === undefined || line === null) return { route, warnings: [] }
      const [filled] = yield* withElevations([line])
      return filled === undefined
        ? { route, warnings: [] }
        : { route: { ...route, geometry: filled.line }, warnings: filled.warnings }
    })

    const batch = yield* routeBatch

    return handlers.handleAll({
      ...trashHandlers("route", trash, (route) => versionedResponse(versionedRoute(route))),
      batch,
      list: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = yield* requestedPage({ query, request }, Option.some(userId))
        const found = ownRoutes.list(userId, query, page, query.geometry ?? "full")
        return yield* routePage(request.url, page, yield* lists(found))
      }, worded),
      tags: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = yield* requestedPage({ query, request }, Option.some(userId))
        const all = yield* lists(ownRoutes.tags(userId))
        const found = sliceOf(all, page, { positionOf: ({ count, tag }) => [-count, tag], isDescending: false })
        return jsonPage(request.url, page, found)
      }, worded),
      create: Effect.fnUntraced(function*({ headers, payload, query, request }) {
        const caller = yield* Caller
        const given = withDuration(yield* withGeometry(payload))
        if (given.visibility === "public") {
          yield* requireConfirmed(caller, headers, Effect.as(requireOwnLine(given), publishing("route", given.name)))
        }
        const isElevated = query.elevation === "true"
        const { route, warnings: missing } = isElevated ? yield* elevated(given) : { route: given, warnings: [] }
        const warnings = [...swappedWarnings(given), ...missing]
        const digest = yield* bodyDigest
        const response = (route: StoredRoute) => {
          const versioned = versionedRoute(route)
          return createdResponse(warnings.length > 0 || isElevated ? importedRoute(versioned, warnings) : versioned)
        }
        return yield* idempotency.once(
          caller.userId,
          { headers, request },
          () => isElevated ? `${digest()} elevation` : digest(),
          Effect.map(routes.create(caller.userId, route), response)
        )
      }, worded),
      get: Effect.fnUntraced(function*({ headers, params, query }) {
        const viewer = Option.map(yield* Viewer, ({ userId }) => userId)
        const form = query.geometry ?? "full"
        return readResponse(versionedRoute(yield* routes.get(params.ref, viewer, form), form), headers)
      }, worded),
      profile: Effect.fnUntraced(function*({ headers, params, query }) {
        const viewer = Option.map(yield* Viewer, ({ userId }) => userId)
        const samples = samplesOf(query)
        const { profile, route } = yield* profiles.get(params.ref, viewer, samples)
        return readResponse(versionedProfile(route, profile, samples), headers)
      }, worded),
      update: Effect.fnUntraced(function*({ headers, params: { id }, payload }) {
        const caller = yield* Caller
        const patch: RouteChange = yield* withGeometry(payload)
        const { userId } = caller
        if (patch.visibility === "public") {
          const fits = patch.geometry === undefined ? Effect.void : requireOwnLine(patch)
          yield* requireConfirmed(caller, headers, Effect.andThen(fits, publishingOwn(userId, id)))
        }
        const change = routes.update(userId, id, patch, expectedVersions(headers), readForm(headers))
        return versionedResponse(versionedRoute(yield* withCurrentTag(change, current(userId, id))))
      }, worded),
      remove: Effect.fnUntraced(function*({ headers, params: { id } }) {
        const caller = yield* Caller
        yield* requireConfirmed(caller, headers, deletingOwn(caller.userId, id))
        const change = routes.remove(caller.userId, id, expectedVersions(headers))
        yield* withCurrentTag(change, current(caller.userId, id))
        return success
      }, worded),
      listDeleted: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = yield* requestedPage({ query, request }, Option.some(userId))
        return yield* routePage(request.url, page, yield* lists(trash.list(userId, page, query.geometry ?? "full")))
      }, worded),
      listPublic: Effect.fnUntraced(function*({ query, request }) {
        const { cursor: _, gate = "indexable", geometry = DEFAULT_FORM[gate], limit: __, offset: ___, ...filters } =
          query
        const page = yield* requestedPage({ query, request }, Option.none())
        return yield* routePage(
          request.url,
          page,
          yield* publicRoutes.list({ ...filters, gate }, page, geometry)
        )
      }, worded),
      listByUser: Effect.fnUntraced(function*({ params, query, request }) {
        const page = yield* requestedPage({ query, request }, Option.none())
        const found = publicRoutes.byUser(params.userId, page, query.geometry ?? "full")
        return yield* routePage(request.url, page, yield* found)
      }, worded)
    })
  })
)
