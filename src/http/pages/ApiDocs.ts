import { Effect, Layer, Scope } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar } from "effect/http-api"
import { createHash } from "node:crypto"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { configuredSite, type Site } from "../../services/texts/Site.ts"
import { scalarScripts } from "../../upstream/ScalarScripts.ts"
import { openApiDocument, titledApi } from "../openapi/Document.ts"
import { DOCS_ASSET, DOCS_DOCUMENT, DOCS_PAGE } from "../request/RouteTemplates.ts"
import { respond, unknownPath } from "../response/ErrorResponse.ts"
import { type Asset, assetResponse, countedAndCompressed, makeAsset } from "./layout/Assets.ts"
import { footer } from "./layout/Layout.ts"

/** Without this rule, lines of code in blocks that scroll make the page wider than a phone. */
const AS_WIDE_AS_THE_SCREEN = "html, body { overflow-x: clip }"

const FOOTER = "footer { font: 0.875rem system-ui, sans-serif; padding: 0 1.5rem }"

/**
 * Disables everything that calls the vendor's servers. A visitor who has signed in has the cookie; an empty bearer
 * token, the first scheme of the document, gets 401.
 */
const SCALAR = {
  authentication: { preferredSecurityScheme: "sessionCookie" },
  withDefaultFonts: false,
  customCss: `${AS_WIDE_AS_THE_SCREEN} ${FOOTER}`,
  showDeveloperTools: "never",
  hideClientButton: true,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true }
}

const hashOf = (script: string) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`

/** Inline styles have to be allowed: the page creates them at run time. */
const policyFor = (start: string) =>
  [
    "default-src 'none'",
    `script-src 'self' ${hashOf(start)}`,
    "style-src 'unsafe-inline'",
    "img-src data:",
    "font-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")

interface DocsPage {
  readonly page: HttpServerResponse.HttpServerResponse
  readonly bundle: Asset
}

const separate = (site: Site, response: HttpServerResponse.HttpServerResponse): DocsPage => {
  const text = response.body._tag === "Uint8Array" ? new TextDecoder().decode(response.body.body) : ""
  const scripts = scalarScripts(text)
  const bundle = makeAsset("reference", "js", scripts.bundle)
  const withNotice = scripts.pageWith(bundle.path.slice(1)).replace("</body>", (end) => `${footer(site).html}${end}`)
  const page = HttpServerResponse.html(withNotice)
  return { page: HttpServerResponse.setHeader(page, "content-security-policy", policyFor(scripts.start)), bundle }
}

const pageLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const site = yield* configuredSite
  const whole = HttpApiScalar.layer(titledApi(site.name), { path: DOCS_PAGE, scalar: SCALAR })
  const page = yield* HttpRouter.toHttpEffect(whole).pipe(Scope.provide(yield* Effect.scope), Effect.cached)
  const separated = yield* Effect.cached(Effect.map(Effect.flatten(page), (response) => separate(site, response)))
  const assetFor = ({ url }: HttpServerRequest.HttpServerRequest) =>
    Effect.flatMap(
      separated,
      ({ bundle }) => url === bundle.path ? Effect.succeed(assetResponse(bundle)) : respond(unknownPath())
    )
  yield* router.add("GET", DOCS_PAGE, Effect.map(separated, ({ page }) => page))
  yield* router.add("GET", DOCS_ASSET, assetFor)
}))

const documentLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const address = (yield* settings.BASE_URL).href.replace(/\/$/, "")
  const { name } = yield* configuredSite
  const document = yield* Effect.cached(
    Effect.sync(() => HttpServerResponse.jsonUnsafe(openApiDocument(address, name)))
  )
  yield* router.add("GET", DOCS_DOCUMENT, document)
}))

export const apiDocsLayer = Layer.unwrap(
  Effect.map(settings.API_DOCS_ENABLED, (isEnabled) =>
    isEnabled
      ? Layer.mergeAll(
        pageLayer.pipe(Layer.provide(countedAndCompressed(DOCS_PAGE))),
        documentLayer.pipe(Layer.provide(countedAndCompressed(DOCS_DOCUMENT)))
      )
      : Layer.empty)
)
