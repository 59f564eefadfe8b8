import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { pageOf } from "../../schema/Page.ts"
import { Routes } from "../../services/Routes.ts"
import { Api } from "../api/Api.ts"
import { Caller, Viewer } from "../api/Authentication.ts"
import { success } from "../api/Success.ts"
import { isConfirmed, unconfirmed } from "../Confirmation.ts"
import { pageHeaders } from "../PageHeaders.ts"
import { routeAnswer, routesAnswer } from "../RouteAnswer.ts"

export const RoutesHandlers = HttpApiBuilder.group(
  Api,
  "routes",
  Effect.fn(function*(handlers) {
    const routes = yield* Routes

    return handlers.handleAll({
      list: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* Caller
        const page = pageOf(query)
        const { items, total } = yield* routes.list(userId, page)
        return routesAnswer(items, { headers: pageHeaders(request.url, page, total) })
      }),
      create: Effect.fnUntraced(function*({ payload, request }) {
        const caller = yield* Caller
        if (payload.visibility === "public" && !isConfirmed(caller, request)) {
          return yield* unconfirmed({
            action: "route.publish",
            resource: "route",
            summary: `Anybody will be able to find and open "${payload.name}".`
          })
        }
        const route = yield* routes.create(caller.userId, payload)
        return routeAnswer(route, { status: 201, headers: { location: `${pathOf(request.url)}/${route.id}` } })
      }),
      get: Effect.fnUntraced(function*({ params }) {
        const viewer = yield* Viewer
        return routeAnswer(yield* routes.get(params.ref, Option.map(viewer, ({ userId }) => userId)))
      }),
      update: Effect.fnUntraced(function*({ params: { id }, payload, request }) {
        const caller = yield* Caller
        if (payload.visibility === "public" && !isConfirmed(caller, request)) {
          const { name } = yield* routes.requireOwn(caller.userId, id)
          return yield* unconfirmed({
            action: "route.publish",
            resource: "route",
            id,
            summary: `Anybody will be able to find and open "${name}".`
          })
        }
        return routeAnswer(yield* routes.update(caller.userId, id, payload))
      }),
      remove: Effect.fnUntraced(function*({ params: { id }, request }) {
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
        yield* routes.remove(caller.userId, id)
        return success
      })
    })
  })
)

const pathOf = (url: string) => new URL(url, "http://localhost").pathname
