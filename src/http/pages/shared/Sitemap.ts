import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { ADDRESSED, type Addressed, PublicAddresses } from "../../../services/collections/PublicAddresses.ts"
import { html } from "../../../services/operations/Html.ts"
import { Limiter } from "../../middleware/RateLimit.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { respond, unknownPath } from "../../response/ErrorResponse.ts"
import { pageLinks } from "../../response/ResourceJson.ts"
import { STORABLE } from "../../response/Versioned.ts"
import { pageRoute } from "../layout/PageRoutes.ts"

const NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"

const PAGE_OF: Readonly<Record<Addressed, string>> = { routes: "r", collections: "c" }

const PART = /^(routes|collections)-([1-9]\d{0,9})\.xml$/

const xmlResponse = (text: string) =>
  HttpServerResponse.text(`<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`, {
    contentType: "application/xml; charset=utf-8",
    headers: STORABLE
  })

const isAddressed = (text: string | undefined): text is Addressed => ADDRESSED.some((kind) => kind === text)

const MAX_PARTS = 50_000

/** `robots.txt` names the index, which leads to files of at most 10,000 addresses (sitemaps.org). */
export const sitemapLayer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const addresses = yield* PublicAddresses
  const { publicLists } = yield* Lanes
  const limiter = yield* Limiter
  const { root } = yield* pageLinks
  const endpoint = HttpApiEndpoint.get("sitemap", SHARED_PAGES.sitemap)

  const index = Effect.gen(function*() {
    const counted = yield* Effect.forEach(
      ADDRESSED,
      (kind) => Effect.map(addresses.parts(kind), (parts) => ({ kind, parts }))
    )
    const files = counted.flatMap(({ kind, parts }) => Array.from({ length: parts }, (_, at) => `${kind}-${at + 1}`))
    const text = html`<sitemapindex xmlns="${NAMESPACE}">
${
      files.slice(0, MAX_PARTS).map((file) => html`<sitemap><loc>${root}sitemaps/${file}.xml</loc></sitemap>\n`)
    }</sitemapindex>`
    return xmlResponse(text.html)
  })

  const part = Effect.gen(function*() {
    const name = (yield* HttpRouter.params)["part"] ?? ""
    const [, kind, number] = PART.exec(name) ?? []
    if (!isAddressed(kind)) return yield* unknownPath()
    const found = yield* publicLists(addresses.part(kind, Number(number)))
    const page = PAGE_OF[kind]
    const text = html`<urlset xmlns="${NAMESPACE}">
${
      found.map(({ name, updatedAt }) =>
        html`<url><loc>${root}${page}/${name}</loc><lastmod>${updatedAt}</lastmod></url>\n`
      )
    }</urlset>`
    return xmlResponse(text.html)
  })

  const robots = Effect.sync(() =>
    HttpServerResponse.text(`User-agent: *\nDisallow:\nSitemap: ${root}sitemap.xml\n`, {
      headers: STORABLE
    })
  )

  const counted = limiter.countAddress(endpoint)

  yield* pageRoute(router, "GET", SHARED_PAGES.sitemap, Effect.andThen(counted, index), respond)
  yield* pageRoute(router, "GET", SHARED_PAGES.sitemapPart, Effect.andThen(counted, part), respond)
  yield* pageRoute(router, "GET", SHARED_PAGES.robots, Effect.andThen(counted, robots), respond)
}))
