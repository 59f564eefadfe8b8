import { Duration, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Unavailable } from "../../schema/Errors.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { configuredSite } from "../../services/texts/Site.ts"
import { Api } from "../api/Api.ts"
import { isProbe, pathOf, templateOf, wantsPage } from "../request/RouteTemplates.ts"
import { noteCause, noteError, respond } from "../response/ErrorResponse.ts"
import { assetResponse } from "./layout/Assets.ts"
import { colorSheet, STYLESHEET } from "./layout/Layout.ts"
import { failureAt } from "./layout/PageRoutes.ts"

const notReady = () => Unavailable.retryAfter("The service is starting: it waits for the database", Duration.seconds(1))

const { live } = Api.groups.health.endpoints

const isForLive = ({ method, url }: HttpServerRequest.HttpServerRequest) =>
  templateOf(method, url) === live.path && (method === live.method || method === "HEAD")

/** Responds to every request until the application is built: live, not ready, and the style of its page. */
export const startingLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const hasPages = yield* settings.PAGES_ENABLED
  const site = yield* configuredSite
  for (const sheet of hasPages ? [STYLESHEET, colorSheet(site)] : []) {
    yield* router.add("GET", sheet.path, assetResponse(sheet))
  }
  yield* router.add(
    "*",
    "*",
    Effect.fnUntraced(function*(request) {
      if (isForLive(request)) return HttpServerResponse.jsonUnsafe({ status: "ok" })
      yield* noteCause("Starting")
      const error = yield* noteError(notReady())
      const path = pathOf(request.url)
      return yield* hasPages && wantsPage(request) && !isProbe(path) ? failureAt(site, path)(error) : respond(error)
    })
  )
}))
