import { Effect, Option } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { MEDIA_TYPES } from "../../../schema/MediaTypes.ts"
import { Pictures } from "../../../services/pictures/Pictures.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import { HEADERS } from "../../api/Headers.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { respond } from "../../response/ErrorResponse.ts"
import { worded } from "../../response/PublicErrors.ts"
import { isKnown, STORABLE } from "../../response/Versioned.ts"
import { pageRoute } from "../layout/PageRoutes.ts"
import { decodeRouteRef } from "./RoutePage.ts"
import { factsOf, placeText } from "./RouteParts.ts"
import { missingPage } from "./SharedPage.ts"

/** The picture that other sites show beside a link to a route. It ignores the session of a browser. */
export const cardImageLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const limiter = yield* Limiter
  const pictures = yield* Pictures
  const { name: site, texts } = yield* configuredSite
  const endpoint = HttpApiEndpoint.get("card", SHARED_PAGES.card)

  const found = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    yield* limiter.countAddress(endpoint)
    const ref = decodeRouteRef((yield* HttpRouter.params)["ref"])
    if (Option.isNone(ref)) return yield* worded(missingPage)
    const { bytes, digest } = yield* worded(pictures.card(ref.value, (route) => {
      const { climb, distance } = factsOf(route, texts, "metric")
      const facts = [distance, climb && texts.shared.climbing(climb), placeText(route, texts)]
      return { site, facts: facts.flatMap((fact) => fact === undefined ? [] : [fact]) }
    }))
    const headers = { [HEADERS.etag.key]: `"${digest}"`, ...STORABLE }
    return isKnown(request.headers[HEADERS.ifNoneMatch.key], `"${digest}"`)
      ? HttpServerResponse.empty({ status: 304, headers })
      : HttpServerResponse.uint8Array(yield* worded(bytes), { contentType: MEDIA_TYPES.png, headers })
  })

  yield* pageRoute(router, "GET", SHARED_PAGES.card, found, respond)
}))
