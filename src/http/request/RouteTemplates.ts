import { Array as Arr } from "effect"
import { FindMyWay, HttpMethod } from "effect/http"
import { Api } from "../api/Api.ts"

const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))

/** Paths that differ in the names of their parameters only are one path to a client. */
const shapeOf = (path: string) => path.replace(/:\w+/g, ":_")

/** The paths of the contract, each with its endpoints: one for a method. */
export const paths = Object.values(Arr.groupBy(endpoints, (endpoint) => shapeOf(endpoint.path)))

/** How the router reads paths: no trailing slash, no double slash, no other case. */
export const ROUTER = { ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, caseSensitive: true }

/** Where the interactive page and its document are, which are no endpoints of the contract. */
export const DOCS_PAGE = "/api"
export const DOCS_DOCUMENT = "/api/openapi.json"

/** Pages for people, which are no endpoints of the contract either. Mails lead to the first two. */
export const PAGES = {
  home: "/",
  verifyEmail: "/verify-email",
  resetPassword: "/reset-password",
  cancelDeletion: "/me/cancel-deletion"
} as const

/** What pages load: the name of a file changes with what is in it. */
export const ASSETS = "/assets"

/** The scripts of the interactive page. */
export const DOCS_ASSET = `${ASSETS}/:file` as const

const templates = FindMyWay.make<string>(ROUTER)

// What a path does not have is named as its GET is: HEAD, and what is refused with 405.
for (const path of paths) {
  for (const method of HttpMethod.all) {
    const endpointOf = (method: string) => path.find((endpoint) => endpoint.method === method)
    const endpoint = endpointOf(method) ?? endpointOf("GET") ?? path[0]
    templates.on(method, path[0].path, endpoint.path.replace(/:(\w+)/g, "{$1}"))
  }
}

for (const path of [DOCS_PAGE, DOCS_DOCUMENT, ...Object.values(PAGES)] as const) templates.all(path, path)
templates.all(DOCS_ASSET, `${ASSETS}/{file}`)

/** The router knows the methods of `HttpMethod.all`. Every other one counts as TRACE, which no path has. */
export const routedMethod = (method: string): HttpMethod.HttpMethod =>
  HttpMethod.isHttpMethod(method) ? method : "TRACE"

const pathOf = (url: string) => {
  const query = url.indexOf("?")
  return query === -1 ? url : url.slice(0, query)
}

/**
 * Whether a request's path has one spelling only. The router decodes percent-encoding and ends a path at `;` and `#`, so
 * that a proxy's rule for `/metrics` would not match `/%6detrics` or `/metrics;x`. No path of the contract needs any of
 * them: ids, handles and share tokens are letters, digits and `-`.
 */
export const isExactPath = (url: string): boolean => !/[%;#]/.test(pathOf(url))

/** Whether a path, as OpenAPI writes it, is there for those who watch the service. */
export const isProbe = (template: string): boolean => template.startsWith("/health") || template === "/metrics"

/** The path that a request is for, as OpenAPI writes it; undefined for a path that is none of ours. */
export const templateOf = (method: string, url: string): string | undefined =>
  isExactPath(url) ? templates.find(routedMethod(method), pathOf(url))?.handler : undefined
