import { Array as Arr, Context } from "effect"
import { FindMyWay } from "effect/http"
import { isSafe } from "../../schema/Http.ts"
import { isPercentEncoded } from "../../schema/Text.ts"
import { Api } from "../api/Api.ts"
import { StoresNothing } from "../api/Requests.ts"

const endpoints = Object.values(Api.groups).flatMap((group) => Object.values(group.endpoints))

const shapeOf = (path: string) => path.replace(/:\w+/g, ":_")

const paths = Object.values(Arr.groupBy(endpoints, (endpoint) => shapeOf(endpoint.path)))

export const ROUTER = { ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, caseSensitive: true }

const API_PREFIX = "/api/v1"

export const DOCS_PAGE = "/api"
export const DOCS_DOCUMENT = "/api/openapi.json"

export const PAGES = {
  home: "/",
  verifyEmail: "/verify-email",
  resetPassword: "/reset-password",
  invitation: "/invitation",
  cancelDeletion: "/me/cancel-deletion",
  revokeTokens: "/me/revoke-tokens"
} as const

/** Browsers navigate to these two addresses of the API, so the contract does not have them. */
export const PROVIDER_SIGN_IN = {
  start: "/api/v1/auth/oidc/:provider/start",
  callback: "/api/v1/auth/oidc/:provider/callback"
} as const

export const providerPath = (step: keyof typeof PROVIDER_SIGN_IN, provider: string): string =>
  PROVIDER_SIGN_IN[step].slice(1).replace(":provider", provider)

/** These pages have the navigation of an account; the last ones are for administrators. */
export const ACCOUNT_PAGES = {
  signIn: "/sign-in",
  signUp: "/sign-up",
  signOut: "/sign-out",
  forgotPassword: "/forgot-password",
  routes: "/me/routes",
  route: "/me/routes/:id",
  trash: "/me/trash",
  collections: "/me/collections",
  collection: "/me/collections/:id",
  profile: "/me/profile",
  tokens: "/me/tokens",
  sessions: "/me/sessions",
  zones: "/me/privacy-zones",
  data: "/me/data",
  password: "/me/password",
  deletion: "/me/delete",
  overview: "/admin",
  users: "/admin/users",
  invitations: "/admin/invitations",
  audit: "/admin/audit"
} as const

export const SHARED_PAGES = {
  route: "/r/:ref",
  card: "/r/:ref/card.png",
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

export const inOpenApiSyntax = (path: string) => path.replace(/:(\w+)/g, "{$1}")

type Part = "api" | "docs" | "pages"

interface KnownPath {
  readonly parts: ReadonlyArray<Part>
  readonly methods: ReadonlyArray<string>
  /** Returns the template of a method. HEAD and methods refused with 405 have the template of GET. */
  readonly templateOf: (method: string) => string
}

const templatesOf = (endpoints: (typeof paths)[number]): KnownPath["templateOf"] => {
  const byMethod = new Map<string, string>(endpoints.map(({ method, path }) => [method, inOpenApiSyntax(path)]))
  const otherwise = byMethod.get("GET") ?? inOpenApiSyntax(endpoints[0].path)
  return (method) => byMethod.get(method) ?? otherwise
}

const withHead = (methods: ReadonlyArray<string>) => methods.includes("GET") ? [...methods, "HEAD"] : methods

/** A path has one entry for all methods: the router compares each new entry with all others. */
const knownPaths = FindMyWay.make<KnownPath>(ROUTER)

for (const endpoints of paths) {
  const methods = withHead([...new Set(endpoints.map(({ method }) => method))])
  knownPaths.on("GET", endpoints[0].path, { parts: ["api"], methods, templateOf: templatesOf(endpoints) })
}

const isInstance = (path: string, template: string) => {
  const expected = template.split("/")
  const segments = path.split("/")
  return segments.length === expected.length
    && expected.every((segment, index) => segment.startsWith(":") || segment === segments[index])
}

/** A path lacks these methods, and a path with a parameter in its place has them. */
export const shadowed = paths.flatMap((same) => {
  const [{ path }] = same
  const methods = new Set<string>(same.map(({ method }) => method))
  const others = endpoints.filter((other) => !methods.has(other.method) && isInstance(path, other.path))
  return [...new Set(others.map(({ method }) => method))].map((method) => ({ method, path }))
})

export const operations: ReadonlyArray<readonly [method: string, template: string]> = endpoints.map((
  { method, path }
) => [method, inOpenApiSyntax(path)])

const served = new Set(operations.map((operation) => operation.join(" ")))

/** HEAD is served as GET. */
export const isServed = (method: string, template: string): boolean => served.has(`${method} ${template}`)

export const pageOperations: Array<readonly [method: string, template: string]> = []

const addPages = (
  parts: ReadonlyArray<Part>,
  given: ReadonlyArray<`/${string}`>,
  methods: ReadonlyArray<string> = ["GET"]
) => {
  for (const path of given) {
    knownPaths.on("GET", path, { parts, methods: withHead(methods), templateOf: () => inOpenApiSyntax(path) })
    for (const method of methods) {
      pageOperations.push([method, inOpenApiSyntax(path)])
      served.add(`${method} ${inOpenApiSyntax(path)}`)
    }
  }
}

const { home, ...forms } = PAGES

const formPages = [...Object.values(forms), ...Object.values(ACCOUNT_PAGES)]

const quickForms = new Set(formPages.map(inOpenApiSyntax))

/** A file on these pages takes as long as the client sends it, and an archive minutes. */
const uploads = new Set<string>([ACCOUNT_PAGES.data, ACCOUNT_PAGES.routes])

export const isQuickForm = (method: string, template: string): boolean =>
  quickForms.has(template) && !(method === "POST" && uploads.has(template))

addPages(["api"], Object.values(PROVIDER_SIGN_IN))
addPages(["docs"], [DOCS_PAGE, DOCS_DOCUMENT])
addPages(["docs", "pages"], [DOCS_ASSET])
addPages(["pages"], [home, ...Object.values(SHARED_PAGES)])
addPages(["pages"], formPages, ["GET", "POST"])

export const pathOf = (url: string) => {
  const query = url.indexOf("?")
  return query === -1 ? url : url.slice(0, query)
}

/** The router decodes `%` and ends paths at `;` and `#`: `/%6detrics` would bypass a proxy's rule for `/metrics`. */
export const isExactPath = (url: string): boolean => !/[%;#]/.test(pathOf(url))

/** The library takes a query with such bytes as it was sent. A `%` before anything else than two digits stands for itself. */
export const isOtherThanUtf8 = (url: string): boolean =>
  url.startsWith("/api/") && !(url.match(/(?:%[0-9a-f]{2})+/gi) ?? []).every(isPercentEncoded)

/** Browsers name HTML among the types that they accept. */
export const wantsPage = (
  { headers, method, url }: {
    readonly headers: Readonly<Record<string, string | undefined>>
    readonly method: string
    readonly url: string
  }
): boolean =>
  (method === "GET" || method === "HEAD") && (headers["accept"] ?? "").includes("text/html") && !url.startsWith("/api/")

export const endsInSlash = (url: string): boolean => /.\/$/.test(pathOf(url))

export const isProbe = (template: string): boolean => template.startsWith("/health") || template === "/metrics"

const knownPath = (url: string): KnownPath | undefined =>
  isExactPath(url) ? knownPaths.find("GET", pathOf(url))?.handler : undefined

/** Returns the path template in OpenAPI syntax, or undefined for an unknown path. */
export const templateOf = (method: string, url: string): string | undefined => knownPath(url)?.templateOf(method)

/** Returns the methods of a path, and none if its part of the service is off. */
export const methodsAt = (url: string, isOn: (part: Part) => boolean): ReadonlyArray<string> => {
  const known = knownPath(url)
  return known?.parts.some(isOn) === true ? known.methods : []
}

const storingNothing = new Set(
  endpoints.filter(({ annotations }) => Context.get(annotations, StoresNothing)).map(({ path }) =>
    inOpenApiSyntax(path)
  )
)

/** Returns the path that a client may have meant: with fewer slashes, in lower case, or below the API's prefix. */
export const meantPath = (url: string, isOn: (part: Part) => boolean): string | undefined => {
  const sent = pathOf(url)
  const path = sent.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "")
  const lower = path.toLowerCase()
  return [path, `${API_PREFIX}${path}`, lower, lower.replace(/^\/(api\/)?(v\d+\/)?/, `${API_PREFIX}/`)]
    .find((path) => path !== sent && methodsAt(path, isOn).length > 0)
}

export const mayStore = (method: string, url: string): boolean =>
  !isSafe(method) && !storingNothing.has(templateOf(method, url) ?? "")
