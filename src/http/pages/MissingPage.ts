import { Effect } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest } from "effect/http"
import { html } from "../../services/operations/Html.ts"
import { configuredSite, type Site } from "../../services/texts/Site.ts"
import { templateOf } from "../request/RouteTemplates.ts"
import { noteError, unknownPath } from "../response/ErrorResponse.ts"
import { pageResponse, rootFrom } from "./layout/Layout.ts"

const isForBrowser = ({ headers, method, url }: HttpServerRequest.HttpServerRequest) =>
  (headers["accept"] ?? "").includes("text/html") && !url.startsWith("/api/") && templateOf(method, url) === undefined

const missing = (site: Site, { url }: HttpServerRequest.HttpServerRequest) => {
  const [path = "/"] = url.split("?")
  const root = rootFrom(path)
  const { title, words } = site.texts.missing
  return pageResponse(site, path, {
    title,
    body: html`<p>${words(root)}</p>`,
    error: unknownPath()
  })
}

/** An unknown path is a page for a browser; for others it has the shape of every error. */
export const missingPageLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const site = yield* configuredSite
  yield* router.add(
    "GET",
    "/*",
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      isForBrowser(request)
        ? Effect.as(noteError(unknownPath()), missing(site, request))
        : Effect.fail(
          new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) })
        ))
  )
}))
