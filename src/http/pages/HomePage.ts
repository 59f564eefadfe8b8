import { Effect, Layer, Option, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiEndpoint } from "effect/http-api"
import { TagFilter } from "../../schema/Route.ts"
import { type Html, html } from "../../services/operations/Html.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { PublicRoutes } from "../../services/routes/PublicRoutes.ts"
import { configuredSite, type Site } from "../../services/texts/Site.ts"
import type { Texts } from "../../services/texts/Texts.ts"
import { Authenticator } from "../auth/Authenticator.ts"
import { ACCOUNT_PAGES, DOCS_DOCUMENT, DOCS_PAGE, PAGES } from "../request/RouteTemplates.ts"
import { type Page, readerOf } from "./layout/Layout.ts"
import { pageLayer } from "./layout/PageRoutes.ts"
import { cardPage, cards } from "./shared/RouteParts.ts"
import { makeReaderUnits } from "./shared/Units.ts"

const relative = (path: string) => path.slice(1)

const welcome = ({ home }: Texts, isOpen: boolean) =>
  html`<p class="actions"><a class="button" href="${relative(ACCOUNT_PAGES.signIn)}">${home.signIn}</a>${
    isOpen ? html`<a class="button quiet" href="${relative(ACCOUNT_PAGES.signUp)}">${home.signUp}</a>` : undefined
  }</p>${isOpen ? undefined : html`\n<p class="hint">${home.byInvitation}</p>`}`

const own = ({ home }: Texts) =>
  html`<p class="actions"><a class="button" href="${relative(ACCOUNT_PAGES.routes)}">${home.routes}</a></p>`

interface Facts {
  readonly hasDocs: boolean
  readonly isOpen: boolean
}

const decodeTag = Schema.decodeUnknownOption(TagFilter)

const tagIn = (query: URLSearchParams) =>
  Option.getOrUndefined(Option.flatMap(decodeTag([query.get("tag")]), ([tag]) => Option.fromUndefinedOr(tag)))

interface Listed {
  readonly routes: Html
  readonly tag: string | undefined
}

const heading = ({ tag }: Listed, { home, pages }: Texts) =>
  tag === undefined
    ? html`<h2>${home.publicRoutes}</h2>`
    : html`<h2>${pages.tagged(tag)}</h2>
<p><a href="./">${pages.allPublic}</a></p>`

const homePage = (reader: Page["reader"], listed: Listed, { name, texts }: Site, { hasDocs, isOpen }: Facts): Page => {
  const { home } = texts
  return {
    title: home.title,
    isWide: true,
    isIndexable: listed.tag === undefined,
    head: html`<meta name="description" content="${home.description}">`,
    reader,
    // An audit for search engines reads robots.txt from within the page.
    policy: { "img-src": "'self' data:", "connect-src": "'self'" },
    body: html`<p class="intro">${home.what(name)}</p>
${reader === "visitor" ? welcome(texts, isOpen) : own(texts)}
${heading(listed, texts)}
${listed.routes}
<h2>${home.programs}</h2>
<p>${hasDocs ? home.docs(relative(DOCS_PAGE), relative(DOCS_DOCUMENT)) : home.noDocs}</p>
<h2>${home.account}</h2>
<ul>
<li>${home.keep(relative(PAGES.cancelDeletion))}</li>
<li>${home.revoke(relative(PAGES.revokeTokens))}</li>
</ul>`
  }
}

export const homePageLayer = Layer.unwrap(Effect.gen(function*() {
  const authenticator = yield* Authenticator
  const facts = { hasDocs: yield* settings.API_DOCS_ENABLED, isOpen: yield* settings.SIGNUP_ENABLED }
  const publicRoutes = yield* PublicRoutes
  const readerUnits = yield* makeReaderUnits
  const site = yield* configuredSite
  return pageLayer({
    path: PAGES.home,
    show: Effect.fnUntraced(function*(query) {
      const principal = yield* authenticator.readOptional(HttpApiEndpoint.get("page", PAGES.home))
      const units = yield* readerUnits(query, yield* HttpServerRequest.HttpServerRequest, principal)
      const page = cardPage(query)
      const tag = tagIn(query)
      const filters = tag === undefined ? {} : { tag }
      const routes = yield* publicRoutes.list(
        { gate: "public", ...(tag === undefined ? {} : { tag: [tag] }) },
        page,
        "summary"
      ).pipe(
        Effect.map((routes) => cards(routes, { filters, offset: page.offset, root: "./", texts: site.texts, units })),
        // The page says what the service is, also under load.
        Effect.catchTag(
          "Overloaded",
          () => Effect.succeed(html`<p>${site.texts.home.busy}</p>`)
        )
      )
      return homePage(readerOf(principal), { routes, tag }, site, facts)
    })
  })
}))
