import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { Routing } from "../../services/routing/Routing.ts"
import { TraceMatching } from "../../services/routing/TraceMatching.ts"
import { Api } from "../api/Api.ts"
import { HEADERS } from "../api/Headers.ts"
import { BodyParts } from "../request/BodyParts.ts"
import { worded } from "../response/PublicErrors.ts"

export const RoutingHandlers = HttpApiBuilder.group(
  Api,
  "routing",
  Effect.fn(function*(handlers) {
    const routing = yield* Routing
    const traces = yield* TraceMatching
    return handlers.handleAll({
      route: Effect.fnUntraced(function*({ payload, query: { directions, ...query } }) {
        const { isCached, response } = yield* routing.route({
          ...payload,
          ...(directions === undefined ? {} : { directions: directions === "true" }),
          ...query
        })
        return HttpServerResponse.jsonUnsafe(response, { headers: { [HEADERS.cache.key]: isCached ? "hit" : "miss" } })
      }, worded),
      traceAttributes: Effect.fnUntraced(function*({ payload }) {
        const { trace } = yield* BodyParts
        return HttpServerResponse.uint8Array(yield* traces.match(payload, trace), { contentType: MEDIA_TYPES.json })
      }, worded)
    })
  })
)
