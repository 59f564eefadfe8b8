import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { Forbidden } from "../../schema/Errors.ts"
import { isSafe } from "../../schema/Http.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { SameSite } from "../api/Requests.ts"

export class CrossSite extends Context.Service<CrossSite, {
  /**
   * Fails with `Forbidden` unless the request is same-origin, from an allowed origin, or not from a browser: browsers
   * send `Sec-Fetch-Site`, or at least `Origin`, with every unsafe request.
   */
  readonly check: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<void, Forbidden>
  /**
   * Returns true if a script of an origin that is not allowed reads: the script's request has `Origin`. A request by a
   * link from another site has none, and no script reads the response.
   */
  readonly isForeignRead: (request: HttpServerRequest.HttpServerRequest) => boolean
}>()("route-planning-service/CrossSite") {
  static readonly layer = Layer.effect(
    CrossSite,
    Effect.gen(function*() {
      const own = (yield* settings.BASE_URL).origin
      const allowed = new Set([own, ...(yield* settings.CORS_ORIGINS)])
      const passes = ({ headers }: HttpServerRequest.HttpServerRequest) => {
        const site = headers["sec-fetch-site"]
        const origin = headers["origin"]
        return site === "same-origin" || site === "none"
          || (site === undefined && origin === undefined)
          || (origin !== undefined && allowed.has(origin))
      }
      return CrossSite.of({
        check: (request) =>
          passes(request)
            ? Effect.void
            : Effect.fail(
              new Forbidden({ message: "Cross-site requests are refused", details: { reason: "cross_site" } })
            ),
        isForeignRead: (request) =>
          isSafe(request.method) && request.headers["origin"] !== undefined && !passes(request)
      })
    })
  )
}

export const sameSiteLayer = Layer.effect(
  SameSite,
  Effect.map(
    CrossSite,
    (crossSite) => (httpEffect) =>
      Effect.flatMap(
        HttpServerRequest.HttpServerRequest,
        (request) => Effect.andThen(crossSite.check(request), httpEffect)
      )
  )
)
