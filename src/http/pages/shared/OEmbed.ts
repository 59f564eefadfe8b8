import { Effect, Option } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { NotFound, NotImplemented, ValidationFailed } from "../../../schema/Errors.ts"
import { CollectionRef, RouteRef } from "../../../schema/Ids.ts"
import { PICTURE_SIDE } from "../../../schema/Picture.ts"
import type { StoredRoute } from "../../../schema/Route.ts"
import { withoutFormat } from "../../../schema/Text.ts"
import { Collections } from "../../../services/collections/Collections.ts"
import { Routes } from "../../../services/routes/Routes.ts"
import { configuredSite } from "../../../services/texts/Site.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { respond } from "../../response/ErrorResponse.ts"
import { worded } from "../../response/PublicErrors.ts"
import { pageLinks } from "../../response/ResourceJson.ts"
import { jsonResponse, STORABLE } from "../../response/Versioned.ts"
import { pageRoute, queryOf } from "../layout/PageRoutes.ts"
import { FRAME, frameOf, picturePath } from "./RouteParts.ts"
import { decodeRef } from "./SharedPage.ts"

const noPage = () => new NotFound({ message: "No such page: expected the address of a shared route or collection" })

const isSide = (given: string | null) => given === null || /^[1-9]\d*$/.test(given)

const sidesOf = (query: URLSearchParams) => {
  const issues = ["maxwidth", "maxheight"].flatMap((path) =>
    isSide(query.get(path)) ? [] : [{ path, message: "Expected a number of pixels" }]
  )
  const side = (name: string, standard: number) => Math.min(Number(query.get(name) ?? standard), standard)
  return issues.length > 0
    ? Effect.fail(ValidationFailed.of("query", issues))
    : Effect.succeed({ width: side("maxwidth", FRAME.width), height: side("maxheight", FRAME.height) })
}

const partsOf = (address: string, root: string) => {
  const url = URL.parse(address)
  const path = url === null ? "" : `${url.origin}${url.pathname}`
  const [, kind = "", name = ""] = path.startsWith(root) ? /^([rc])\/([^/]+)$/.exec(path.slice(root.length)) ?? [] : []
  return { kind, name }
}

const common = (title: string, user: StoredRoute["user"], root: string, provider: string) => ({
  version: "1.0",
  title: withoutFormat(title),
  author_name: user.name,
  author_url: `${root}u/${user.handle}`,
  provider_name: provider,
  provider_url: root
})

/** Responds to oEmbed (oembed.com) in JSON, and with 501 to other formats. */
export const oembedLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const collections = yield* Collections
  const limiter = yield* Limiter
  const { root } = yield* pageLinks
  const routes = yield* Routes
  const { name: provider } = yield* configuredSite
  const endpoint = HttpApiEndpoint.get("oembed", SHARED_PAGES.oembed)

  const rich = Effect.fnUntraced(function*(name: string, query: URLSearchParams) {
    const ref = yield* Effect.mapError(decodeRef(RouteRef, name), noPage)
    const route = yield* worded(routes.get(ref, Option.none(), "none"))
    const token = typeof ref === "string" ? ref : route.shareToken
    const { height, width } = yield* sidesOf(query)
    const hasThumbnail = Math.min(width, height) >= PICTURE_SIDE.minimum
    return {
      ...common(route.name, route.user, root, provider),
      type: "rich",
      html: frameOf(root, token, route.name, { height, width }).html,
      width,
      height,
      ...(hasThumbnail
        ? {
          thumbnail_url: `${root}${picturePath(token, "png", { width, height })}`,
          thumbnail_width: width,
          thumbnail_height: height
        }
        : {})
    }
  })

  const link = Effect.fnUntraced(function*(name: string) {
    const ref = yield* Effect.mapError(decodeRef(CollectionRef, name), noPage)
    const { name: title, user } = yield* worded(collections.get(ref, Option.none()))
    return { ...common(title, user, root, provider), type: "link" }
  })

  const found = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    yield* limiter.countAddress(endpoint)
    const query = queryOf(request)
    if ((query.get("format") ?? "json") !== "json") {
      return yield* new NotImplemented({ message: "Only format=json is implemented" })
    }
    const { kind, name } = partsOf(query.get("url") ?? "", root)
    const shown = kind === "c" ? yield* link(name) : yield* rich(name, query)
    return jsonResponse(JSON.stringify(shown), { headers: STORABLE })
  })

  yield* pageRoute(router, "GET", SHARED_PAGES.oembed, found, respond)
}))
