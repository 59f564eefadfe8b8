import { Config, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { type ServiceError, ValidationFailed } from "../../schema/Errors.ts"
import { ProviderSignIn } from "../../services/accounts/ProviderSignIn.ts"
import { html } from "../../services/operations/Html.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { configuredSite } from "../../services/texts/Site.ts"
import type { Texts } from "../../services/texts/Texts.ts"
import { SIGN_IN_COOKIE, Tier } from "../api/Access.ts"
import { clearSignInCookie, setSignInCookie } from "../auth/Credentials.ts"
import { deviceOf, signInResponses } from "../auth/SignInResponses.ts"
import { Limiter } from "../middleware/RateLimit.ts"
import { PROVIDER_SIGN_IN, providerPath } from "../request/RouteTemplates.ts"
import { pageLinks } from "../response/ResourceJson.ts"
import { alert, type Page, pageResponse, plainWords } from "./layout/Layout.ts"
import { pageRoute, queryOf } from "./layout/PageRoutes.ts"

const MAX_RETURN = 2000

const RETURN_RULE = "Expected a path of this service, or an address at the origin of BASE_URL, APP_URL or CORS_ORIGINS"

/** Reads `return` as browsers read addresses, so that none leads elsewhere: `//evil.example`, `/\evil.example`. */
const returnAddress = Config.map(
  Config.all({ app: settings.APP_URL, base: settings.BASE_URL, origins: settings.CORS_ORIGINS }),
  ({ app, base, origins }) => {
    const allowed = new Set([base.origin, app.origin, ...origins])
    // The origin of `blob:` is that of the address behind it.
    const isAllowed = ({ origin, password, protocol, username }: URL) =>
      allowed.has(origin) && protocol !== "blob:" && `${username}${password}` === ""
    return (query: URLSearchParams): Effect.Effect<URL, ValidationFailed> => {
      const unknown = [...query.keys()].find((name) => name !== "return")
      if (unknown !== undefined) {
        return Effect.fail(ValidationFailed.at("query", unknown, "Unknown parameter: Expected return"))
      }
      const [given, ...others] = query.getAll("return")
      if (given === undefined) return Effect.succeed(app)
      const isOne = others.length === 0 && given !== "" && given.length <= MAX_RETURN
      const address = isOne && URL.canParse(given, base.origin) ? new URL(given, base.origin) : undefined
      return address !== undefined && isAllowed(address)
        ? Effect.succeed(address)
        : Effect.fail(ValidationFailed.at("query", "return", RETURN_RULE))
    }
  }
)

/** The words of `plainWords` for 503 and 504 are about this service, which did not fail here. */
const wordsOf = (texts: Texts, error: ServiceError) =>
  [503, 504].includes(error.statusCode) ? texts.errors.other(error.message, error.statusCode) : plainWords(texts, error)

const failedPage = (texts: Texts, error: ServiceError): Page => ({
  title: texts.signIn.providerFailed,
  body: html`${alert(wordsOf(texts, error))}
<p>${texts.signIn.beginAgain("start")}</p>`,
  error
})

/** Browsers navigate to these two addresses, which respond by redirects and pages, and not in JSON. */
export const providerSignInLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const limiter = yield* Limiter
  const providers = yield* ProviderSignIn
  const { root } = yield* pageLinks
  const returnOf = yield* returnAddress
  const site = yield* configuredSite
  const { signedIn } = yield* signInResponses

  const provider = Effect.map(HttpRouter.params, (params) => params["provider"] ?? "")

  const redirectUri = (id: string) => new URL(`${root}${providerPath("callback", id)}`)

  const serve = <E, R>(
    path: typeof PROVIDER_SIGN_IN[keyof typeof PROVIDER_SIGN_IN],
    respond: (
      request: HttpServerRequest.HttpServerRequest,
      id: string
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) => {
    const endpoint = HttpApiEndpoint.get("page", path).annotate(Tier, "auth")
    const work = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* limiter.countAddress(endpoint)
      return yield* respond(request, yield* provider)
    })
    return pageRoute(
      router,
      "GET",
      path,
      work,
      (error) => Effect.succeed(pageResponse(site, path, failedPage(site.texts, error)))
    )
  }

  yield* serve(
    PROVIDER_SIGN_IN.start,
    Effect.fnUntraced(function*(request, id) {
      const returnTo = yield* returnOf(queryOf(request))
      const { address, pending } = yield* providers.begin(id, { redirectUri: redirectUri(id), returnTo })
      return setSignInCookie(pending)(HttpServerResponse.redirect(address, { status: 303 }))
    })
  )

  yield* serve(
    PROVIDER_SIGN_IN.callback,
    Effect.fnUntraced(function*(request, id) {
      const callback = redirectUri(id)
      callback.search = queryOf(request).toString()
      const pending = request.cookies[SIGN_IN_COOKIE]
      const { returnTo, signIn } = yield* providers.finish(id, { callback, pending, device: deviceOf(request) })
      yield* signedIn(signIn)
      return clearSignInCookie(HttpServerResponse.redirect(returnTo, { status: 303 }))
    })
  )
}))
