import { Config, Effect, Function, identity, Layer, Option, Scope } from "effect"
import { HttpMiddleware, HttpPlatform, HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint, HttpApiScalar } from "effect/http-api"
import { createHash } from "node:crypto"
import { baseUrl } from "../services/Addresses.ts"
import { DocumentedApi, openApiDocument } from "./api/openapi/Document.ts"
import { toResponse } from "./ErrorResponse.ts"
import { methodsRefusedAt } from "./MethodNotAllowed.ts"
import { Limiter } from "./middleware/RateLimit.ts"
import { DOCS_DOCUMENT, DOCS_PAGE } from "./RouteTemplates.ts"

/** Whether to serve the interactive page (`API_DOCS_ENABLED`): where nobody said, everywhere but in production. */
export const docsEnabled = Config.all({
  asked: Config.option(Config.Boolean("API_DOCS_ENABLED")),
  environment: Config.String("NODE_ENV").pipe(Config.withDefault(""))
}).pipe(Config.map(({ asked, environment }) => Option.getOrElse(asked, () => environment !== "production")))

/** All that the page could ask of its maker's servers is off: fonts, proxy, accounts, telemetry, an agent. */
const SCALAR = {
  withDefaultFonts: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true }
}

const hashOf = (script: string) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`

/**
 * Its scripts by their hash and no other, requests to ourselves and nobody else. Styles have to be allowed: the page
 * makes them as it goes.
 */
const policyFor = (html: string) => {
  const scripts = [...html.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = ""]) => hashOf(script))
  return [
    "default-src 'none'",
    `script-src ${scripts.join(" ")}`,
    "style-src 'unsafe-inline'",
    "img-src data:",
    "font-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
}

const withPolicy = Function.memoize((response: HttpServerResponse.HttpServerResponse) => {
  const html = response.body._tag === "Uint8Array" ? new TextDecoder().decode(response.body.body) : ""
  return HttpServerResponse.setHeader(response, "content-security-policy", policyFor(html))
})

/** Both answers are long and have few words: they travel compressed. They count like every other endpoint. */
const served = (
  path: HttpRouter.PathInput,
  finish: (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
) =>
  HttpRouter.middleware(Effect.gen(function*() {
    const limiter = yield* Limiter
    const platform = yield* HttpPlatform.HttpPlatform
    const endpoint = HttpApiEndpoint.get("docs", path)
    return (httpEffect) =>
      Effect.matchEffect(limiter.countAddress(endpoint), {
        onFailure: (refusal) => Effect.succeed(toResponse(refusal)),
        onSuccess: () => HttpMiddleware.compression()(Effect.map(httpEffect, finish))
      }).pipe(Effect.provideService(HttpPlatform.HttpPlatform, platform))
  })).layer

/** The page's 3 MB are loaded when somebody asks for them, not at the start. */
const pageLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const page = yield* HttpRouter.toHttpEffect(HttpApiScalar.layer(DocumentedApi, { path: DOCS_PAGE, scalar: SCALAR }))
    .pipe(
      Scope.provide(yield* Effect.scope),
      Effect.cached
    )
  yield* router.add("GET", DOCS_PAGE, Effect.flatten(page))
})).pipe(Layer.provide(served(DOCS_PAGE, withPolicy)))

const documentLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const address = (yield* baseUrl).origin
  const document = yield* Effect.cached(Effect.sync(() => HttpServerResponse.jsonUnsafe(openApiDocument(address))))
  yield* router.add("GET", DOCS_DOCUMENT, document)
})).pipe(Layer.provide(served(DOCS_DOCUMENT, identity)))

/** The interactive page with its OpenAPI document; nothing at all where it is not wanted. */
export const apiDocsLayer = Layer.unwrap(
  Effect.map(docsEnabled, (isEnabled) =>
    isEnabled
      ? Layer.mergeAll(pageLayer, documentLayer, methodsRefusedAt(DOCS_PAGE), methodsRefusedAt(DOCS_DOCUMENT))
      : Layer.empty)
)
