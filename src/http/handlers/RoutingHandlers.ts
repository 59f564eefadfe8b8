import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ValidationFailed } from "../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { ONE_GEOMETRY } from "../../schema/Route.ts"
import { withMembers } from "../../services/bodies/JsonText.ts"
import { lineOf, type RouteDraft } from "../../services/routes/RouteRow.ts"
import { Elevations, Routing, TraceMatching } from "../../services/routing/Routing.ts"
import { Api } from "../api/Api.ts"
import { HEADERS } from "../api/Headers.ts"
import { BodyParts, makeWithGeometry } from "../request/RequestBodies.ts"
import { worded } from "../response/PublicErrors.ts"
import { jsonResponse } from "../response/Versioned.ts"

export const RoutingHandlers = HttpApiBuilder.group(
  Api,
  "routing",
  Effect.fn(function*(handlers) {
    const routing = yield* Routing
    const traces = yield* TraceMatching
    const elevations = yield* Elevations
    const withGeometry = yield* makeWithGeometry
    return handlers.handleAll({
      route: Effect.fnUntraced(function*({ payload, query: { directions, surfaces, ...query } }) {
        const { isCached, response } = yield* routing.route({
          ...payload,
          ...(directions === undefined ? {} : { directions: directions === "true" }),
          ...(surfaces === undefined ? {} : { surfaces: surfaces === "true" }),
          ...query
        })
        return HttpServerResponse.jsonUnsafe(response, {
          headers: { [HEADERS.cache.key]: isCached ? "hit" : "miss" }
        })
      }, worded),
      elevation: Effect.fnUntraced(function*({ payload }) {
        const given: Pick<RouteDraft, "geometry"> = yield* withGeometry(payload)
        const line = lineOf(given.geometry)
        if (line === undefined || line === null) {
          return yield* ValidationFailed.at("body", "geometry", ONE_GEOMETRY)
        }
        const { line: { json }, ...counts } = yield* elevations.fill(line)
        return jsonResponse(withMembers(JSON.stringify(counts), ["geometry", json]))
      }, worded),
      traceAttributes: Effect.fnUntraced(function*({ payload }) {
        const { trace } = yield* BodyParts
        return HttpServerResponse.uint8Array(yield* traces.match(payload, trace), { contentType: MEDIA_TYPES.json })
      }, worded)
    })
  })
)
