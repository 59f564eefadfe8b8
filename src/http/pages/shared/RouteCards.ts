import type { PageOf } from "../../../schema/Page.ts"
import type { StoredCollectionRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { summaryOf } from "./Facts.ts"
import { picture } from "./Pictured.ts"

/** Fills rows of two and of three cards. */
const CARDS = 24

const MAX_PAGE = 9999

/** `?page=`, from 1; anything else is the first page. */
export const cardPage = (query: URLSearchParams): { readonly limit: number; readonly offset: number } => {
  const page = Number(/^[1-9]\d{0,3}$/.exec(query.get("page") ?? "")?.[0] ?? 1)
  return { limit: CARDS, offset: (Math.min(page, MAX_PAGE) - 1) * CARDS }
}

const SHOTS = { wide: { width: 360, height: 225 }, isLazy: true }

/** No link for an unlisted route of a collection opened by a share link: its own token would outlive that link. */
const card = (route: StoredCollectionRoute, root: string) =>
  route.shareToken === undefined
    ? html`<li><h2>${route.name}</h2>
<p class="hint">${summaryOf(route)}</p></li>
`
    : html`<li>${picture(route.shareToken, SHOTS, "", root)}
<h2><a href="${root}r/${route.shareToken}">${route.name}</a></h2>
<p class="hint">${summaryOf(route)}</p></li>
`

const pageLink = (page: number, rel: "next" | "prev", text: string) =>
  html`<a href="?page=${page}" rel="${rel}">${text}</a> `

export const cards = (
  { covered, items, total }: PageOf<StoredCollectionRoute>,
  offset: number,
  root: string
): Html => {
  const page = offset / CARDS + 1
  const isLast = offset + (covered ?? items.length) >= total || items.length === 0
  const previous = page > 1 ? pageLink(page - 1, "prev", "Previous routes") : html``
  const next = isLast ? html`` : pageLink(page + 1, "next", "More routes")
  return items.length === 0
    ? html`<p>There are no routes here.</p>`
    : html`<ul class="cards">
${items.map((route) => card(route, root))}</ul>
${page === 1 && isLast ? html`` : html`<nav aria-label="Pages"><p>${previous}${next}</p></nav>`}`
}
