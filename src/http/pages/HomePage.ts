import { Effect, Layer } from "effect"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import { html } from "../../services/operations/Html.ts"
import { settings } from "../../services/settings/Registry.ts"
import { DOCS_DOCUMENT, DOCS_PAGE, PAGES } from "../request/RouteTemplates.ts"
import type { Page } from "./layout/Layout.ts"
import { pageLayer } from "./layout/PageRoutes.ts"

const relative = (path: string) => path.slice(1)

const docs = html`<p>Its <a href="${
  relative(DOCS_PAGE)
}">interactive documentation</a> lists every operation and sends requests
from the browser. The same as data is the <a href="${
  relative(DOCS_DOCUMENT)
}">OpenAPI document</a>, from which clients can
be generated.</p>`

const noDocs = html`<p>Its documentation is in the file <code>docs/api.md</code> of the program. An operator who sets
<code>API_DOCS_ENABLED=true</code> has it served here as well.</p>`

const homePage = (hasDocs: boolean): Page => ({
  title: "Plan, store and share routes",
  body:
    html`<p>This is a Route Planning Service. It stores routes for people who run, ride and walk, and for the apps and
scripts that they use. There is nothing to see here but this page: everything else is an API, below
<code>/api/v1</code>.</p>
${hasDocs ? docs : noDocs}
<h2>Your account</h2>
<ul>
<li>Links in mails lead to pages of this site that verify an address or set a password.</li>
<li><a href="${relative(PAGES.cancelDeletion)}">Keep an account</a> whose deletion was requested, within
${inWords(GRACE_PERIOD)}.</li>
<li><a href="${relative(PAGES.revokeTokens)}">Revoke the access tokens</a> of scripts and apps.</li>
</ul>
<h2>Operators</h2>
<p><a href="health/ready">The state of the service</a> is for machines.</p>`
})

export const homePageLayer = Layer.unwrap(
  Effect.map(
    settings.API_DOCS_ENABLED,
    (hasDocs) => pageLayer({ path: PAGES.home, show: () => Effect.succeed(homePage(hasDocs)) })
  )
)
