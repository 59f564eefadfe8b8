import { Effect } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest } from "effect/http"
import { html } from "../../services/operations/Html.ts"
import { templateOf } from "../request/RouteTemplates.ts"
import { unknownPath } from "../response/ErrorResponse.ts"
import { pageResponse, rootFrom } from "./layout/Layout.ts"

const isForBrowser = ({ headers, method, url }: HttpServerRequest.HttpServerRequest) =>
  (headers["accept"] ?? "").includes("text/html") && !url.startsWith("/api/") && templateOf(method, url) === undefined

const missing = ({ url }: HttpServerRequest.HttpServerRequest) => {
  const [path = "/"] = url.split("?")
  const root = rootFrom(path)
  return pageResponse(path, {
    title: "There is no such page",
    body: html`<p>The address is wrong, or the page is gone. Begin at the <a href="${root}">start page</a>.</p>`,
    error: unknownPath()
  })
}

/** An unknown path is a page for a browser; for others it has the shape of every error. */
export const missingPageLayer = HttpRouter.use((router) =>
  router.add(
    "GET",
    "/*",
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      isForBrowser(request)
        ? Effect.sync(() => missing(request))
        : Effect.fail(
          new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) })
        ))
  )
)
