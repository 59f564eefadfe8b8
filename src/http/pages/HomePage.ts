import { Effect, Layer } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import { type Html, html } from "../../services/operations/Html.ts"
import { PublicRoutes } from "../../services/routes/PublicRoutes.ts"
import { settings } from "../../services/settings/Registry.ts"
import { Authenticator } from "../auth/Authenticator.ts"
import { ACCOUNT_PAGES, DOCS_DOCUMENT, DOCS_PAGE, PAGES } from "../request/RouteTemplates.ts"
import { type Page, readerOf } from "./layout/Layout.ts"
import { pageLayer } from "./layout/PageRoutes.ts"
import { cardPage, cards } from "./shared/RouteParts.ts"

const relative = (path: string) => path.slice(1)

const docs = html`<p>Programs use the same by an API, below <code>/api/v1</code>: its <a href="${
  relative(DOCS_PAGE)
}">interactive documentation</a> lists every
operation and sends requests from the browser, and the <a href="${
  relative(DOCS_DOCUMENT)
}">OpenAPI document</a> is the same as data.</p>`

const noDocs = html`<p>Programs use the same by an API, below <code>/api/v1</code>. Its documentation is in the file
<code>docs/api.md</code> of the program. An operator who sets <code>API_DOCS_ENABLED=true</code> has it served here as well.</p>`

const welcome = (isOpen: boolean) =>
  html`<p class="actions"><a class="button" href="${relative(ACCOUNT_PAGES.signIn)}">Sign in</a>${
    isOpen ? html`<a class="button quiet" href="${relative(ACCOUNT_PAGES.signUp)}">Sign up</a>` : undefined
  }</p>${isOpen ? undefined : html`\n<p class="hint">Accounts are by invitation here: ask an administrator.</p>`}`

const own = html`<p class="actions"><a class="button" href="${relative(ACCOUNT_PAGES.routes)}">My routes</a></p>`

interface Facts {
  readonly hasDocs: boolean
  readonly isOpen: boolean
}

const homePage = (reader: Page["reader"], listed: Html, { hasDocs, isOpen }: Facts): Page => ({
  title: "Plan, store and share routes",
  isWide: true,
  isIndexable: true,
  head: html`<meta name="description" content="Store, share and download routes for running, riding and walking.">`,
  reader,
  policy: { "img-src": "'self' data:" },
  body:
    html`<p>This is a Route Planning Service. It is for people who run, ride and walk: upload routes of any program, keep them in
order, share them by a link, and take them along as GPX, FIT and other files.</p>
${reader === "visitor" ? welcome(isOpen) : own}
<h2>Public routes</h2>
${listed}
<h2>Apps and scripts</h2>
${hasDocs ? docs : noDocs}
<h2>Your account</h2>
<ul>
<li><a href="${relative(PAGES.cancelDeletion)}">Keep an account</a> whose deletion was requested, within
${inWords(GRACE_PERIOD)}.</li>
<li><a href="${relative(PAGES.revokeTokens)}">Revoke the access tokens</a> of scripts and apps.</li>
</ul>`
})

export const homePageLayer = Layer.unwrap(Effect.gen(function*() {
  const authenticator = yield* Authenticator
  const facts = { hasDocs: yield* settings.API_DOCS_ENABLED, isOpen: yield* settings.SIGNUP_ENABLED }
  const publicRoutes = yield* PublicRoutes
  return pageLayer({
    path: PAGES.home,
    show: Effect.fnUntraced(function*(query) {
      const principal = yield* authenticator.readOptional(HttpApiEndpoint.get("page", PAGES.home))
      const page = cardPage(query)
      const listed = yield* publicRoutes.list({ gate: "public" }, page, "none").pipe(
        Effect.map((routes) => cards(routes, page.offset, "./")),
        // The page says what the service is, also where it has too much to do.
        Effect.catchTag(
          "Overloaded",
          () => Effect.succeed(html`<p>They cannot be listed now. Try again in a moment.</p>`)
        )
      )
      return homePage(readerOf(principal), listed, facts)
    })
  })
}))
