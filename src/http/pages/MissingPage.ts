import { Effect } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { html } from "../../services/operations/Html.ts"
import { configuredSite, type Site } from "../../services/texts/Site.ts"
import { templateOf, wantsPage } from "../request/RouteTemplates.ts"
import { noteError, unknownPath } from "../response/ErrorResponse.ts"
import { pageResponse, type Reader, rootFrom } from "./layout/Layout.ts"
import { makeReader } from "./layout/PageRoutes.ts"

const ENDPOINT = HttpApiEndpoint.get("page", "/*")

const isForBrowser = (request: HttpServerRequest.HttpServerRequest) =>
  wantsPage(request) && templateOf(request.method, request.url) === undefined

const missing = (site: Site, { url }: HttpServerRequest.HttpServerRequest, reader: Reader) => {
  const [path = "/"] = url.split("?")
  const root = rootFrom(path)
  const { title, words } = site.texts.missing
  return pageResponse(site, path, {
    title,
    reader,
    body: html`<p>${words(root)}</p>`,
    error: unknownPath()
  })
}

/** Browsers get a page for an unknown path; other clients get the usual shape of errors. */
export const missingPageLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const reader = (yield* makeReader)(ENDPOINT)
  const site = yield* configuredSite
  yield* router.add(
    "GET",
    "/*",
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      isForBrowser(request)
        ? Effect.map(Effect.tap(reader, noteError(unknownPath())), (known) => missing(site, request, known))
        : Effect.fail(
          new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) })
        ))
  )
}))
