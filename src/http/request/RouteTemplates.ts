import { Array as Arr, Context } from "effect"
import { FindMyWay, HttpMethod } from "effect/http"
import { isSafe } from "../../schema/SafeMethods.ts"
import { Api } from "../api/Api.ts"
import { StoresNothing } from "../api/Requests.ts"

const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))

/** Ignores parameter names. */
const shapeOf = (path: string) => path.replace(/:\w+/g, ":_")

export const paths = Object.values(Arr.groupBy(endpoints, (endpoint) => shapeOf(endpoint.path)))

export const ROUTER = { ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, caseSensitive: true }

export const DOCS_PAGE = "/api"
export const DOCS_DOCUMENT = "/api/openapi.json"

export const PAGES = {
  home: "/",
  verifyEmail: "/verify-email",
  resetPassword: "/reset-password",
  cancelDeletion: "/me/cancel-deletion",
  revokeTokens: "/me/revoke-tokens"
} as const

export const SHARED_PAGES = {
  route: "/r/:ref",
  collection: "/c/:ref",
  user: "/u/:handle",
  embed: "/embed/:token",
  oembed: "/oembed",
  sitemap: "/sitemap.xml",
  sitemapPart: "/sitemaps/:part",
  robots: "/robots.txt"
} as const

export const ASSETS = "/assets"

export const DOCS_ASSET = `${ASSETS}/:file` as const

const inOpenApiSyntax = (path: string) => path.replace(/:(\w+)/g, "{$1}")

/** The template of a method at a path; HEAD and methods refused with 405 have that of GET. */
type TemplateOf = (method: string) => string

const templatesOf = (endpoints: (typeof paths)[number]): TemplateOf => {
  const byMethod = new Map<string, string>(endpoints.map(({ method, path }) => [method, inOpenApiSyntax(path)]))
  const otherwise = byMethod.get("GET") ?? inOpenApiSyntax(endpoints[0].path)
  return (method) => byMethod.get(method) ?? otherwise
}

/** One entry a path and not one a method: the router compares each new entry with all others. */
const templates = FindMyWay.make<TemplateOf>(ROUTER)

for (const endpoints of paths) templates.on("GET", endpoints[0].path, templatesOf(endpoints))

for (
  const path of [DOCS_PAGE, DOCS_DOCUMENT, ...Object.values(PAGES), ...Object.values(SHARED_PAGES), DOCS_ASSET] as const
) templates.on("GET", path, () => inOpenApiSyntax(path))

/** The router knows only `HttpMethod.all`; no path has TRACE. */
export const routedMethod = (method: string): HttpMethod.HttpMethod =>
  HttpMethod.isHttpMethod(method) ? method : "TRACE"

const pathOf = (url: string) => {
  const query = url.indexOf("?")
  return query === -1 ? url : url.slice(0, query)
}

/** The router decodes `%` and ends paths at `;` and `#`: `/%6detrics` would bypass a proxy's rule for `/metrics`. */
export const isExactPath = (url: string): boolean => !/[%;#]/.test(pathOf(url))

export const isProbe = (template: string): boolean => template.startsWith("/health") || template === "/metrics"

/** The path template in OpenAPI syntax; undefined for an unknown path. */
export const templateOf = (method: string, url: string): string | undefined =>
  isExactPath(url) ? templates.find("GET", pathOf(url))?.handler(method) : undefined

const storingNothing = new Set(
  endpoints.filter(({ annotations }) => Context.get(annotations, StoresNothing)).map(({ path }) =>
    inOpenApiSyntax(path)
  )
)

/** Whether the work of a request may change what is stored. */
export const mayStore = (method: string, url: string): boolean =>
  !isSafe(method) && !storingNothing.has(templateOf(method, url) ?? "")
