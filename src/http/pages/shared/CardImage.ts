import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { RouteRef } from "../../../schema/Ids.ts"
import { MEDIA_TYPES } from "../../../schema/MediaTypes.ts"
import { CardLogo } from "../../../services/pictures/MapStyle.ts"
import { Pictures } from "../../../services/pictures/Pictures.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import { HEADERS } from "../../api/Headers.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { respond } from "../../response/ErrorResponse.ts"
import { worded } from "../../response/PublicErrors.ts"
import { isKnown, robotsFor, STORABLE } from "../../response/Versioned.ts"
import { pageRoute } from "../layout/PageRoutes.ts"
import { factsOf, placeText } from "./RouteParts.ts"
import { decodeRef } from "./SharedPage.ts"

const headersOf = (digest: string) => ({ [HEADERS.etag.key]: `"${digest}"`, ...STORABLE })

/** Serves the picture that other sites show beside a link to a route, and ignores the session of a browser. */
export const cardImageLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const limiter = yield* Limiter
  const pictures = yield* Pictures
  const cardLogo = yield* CardLogo
  const { color, name: site, texts } = yield* configuredSite
  const endpoint = HttpApiEndpoint.get("card", SHARED_PAGES.card)

  const found = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    yield* limiter.countAddress(endpoint)
    const ref = yield* worded(decodeRef(RouteRef, (yield* HttpRouter.params)["ref"]))
    const logo = yield* cardLogo
    const { digest, drawn, visibility } = yield* worded(pictures.card(ref, (route) => {
      const { climb, distance } = factsOf(route, texts, "metric")
      const facts = [distance, climb && texts.shared.climbing(climb), placeText(route, texts)]
      return { site, color: color.light, logo, facts: facts.flatMap((fact) => fact === undefined ? [] : [fact]) }
    }))
    const known = request.headers[HEADERS.ifNoneMatch.key]
    if (isKnown(known, `"${digest}"`)) return HttpServerResponse.empty({ status: 304, headers: headersOf(digest) })
    const card = yield* worded(drawn)
    return HttpServerResponse.uint8Array(card.bytes, {
      contentType: MEDIA_TYPES.png,
      headers: { ...headersOf(card.digest), ...robotsFor(visibility) }
    })
  })

  yield* pageRoute(router, "GET", SHARED_PAGES.card, found, respond)
}))
