import { Effect } from "effect"
import { LinkIdFromPath } from "../../../schema/Ids.ts"
import type { Visibility } from "../../../schema/Resource.ts"
import { NewShareLink, type ShareLink } from "../../../schema/ShareLink.ts"
import { inOneLine } from "../../../schema/Text.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { RouteViews } from "../../../services/routes/RouteViews.ts"
import { type Shared, ShareLinks } from "../../../services/sharing/ShareLinks.ts"
import type { Endpoint } from "../../middleware/RateLimit.ts"
import { type PageLinks, pageLinks } from "../../response/ResourceJson.ts"
import { type Action, done, idOf, type Visit } from "./AccountPage.ts"
import { button, checkbox, confirmed, day, decodeForm, form, hidden, input, isChecked, orNull } from "./Forms.ts"

const PATHS = { route: "r", collection: "c" } as const

const copied = (id: string, label: string, address: string) =>
  html`<p><label for="${id}">${label}</label><input id="${id}" class="secret" readonly value="${address}"></p>\n`

const linkItem = (link: ShareLink, address: string) => {
  const name = link.label === null || link.label === "" ? `Link ${link.id}` : inOneLine(link.label)
  return html`<li><div>${copied(`link-${link.id}`, name, address)}
<p class="hint">Expires: ${day(link.expiresAt)}. Opened ${link.uses} times, last: ${day(link.lastUsedAt)}.${
    link.allowDownload ? "" : " Without files."
  }</p></div>
${form(hidden("link", link.id), button("removeLink", "Remove", "quiet", name))}</li>\n`
}

interface SharedResource {
  readonly shared: Shared
  readonly shareToken: string | undefined
  readonly visibility: Visibility
}

/** The end of a day in UTC: a date has no time. */
const endOf = (date: string | undefined) => {
  const given = orNull(date)
  return given === null ? null : `${given}T23:59:59Z`
}

const shownLink = ({ shared: { kind }, shareToken, visibility }: SharedResource, { root }: PageLinks): Html =>
  visibility === "private" || shareToken === undefined
    ? html`<p>It is private: nobody else opens it. Make it unlisted to give others a link.</p>\n`
    : html`${copied("share", "Link to copy", `${root}${PATHS[kind]}/${shareToken}`)}${
      confirmed(
        "Replace the link",
        html`<p>The link that you gave to others opens nothing from then on.</p>`,
        button("replaceLink", "Replace the link", "danger")
      )
    }`

interface Endpoints {
  readonly create: Endpoint
  readonly remove: Endpoint
  readonly replace: Endpoint
}

/** The part of a page about the links of a route or a collection, and its actions. */
export const makeSharing = Effect.gen(function*() {
  const addresses = yield* pageLinks
  const links = yield* ShareLinks
  const views = yield* RouteViews

  const section = Effect.fnUntraced(function*({ session }: Visit, resource: SharedResource) {
    const { kind } = resource.shared
    const all = yield* links.list(session.userId, resource.shared)
    return html`<section aria-labelledby="sharing"><h2 id="sharing">Share</h2>
${shownLink(resource, addresses)}<h3>More links</h3>
${
      all.length === 0
        ? undefined
        : html`<ul class="rows">${
          all.map((link) => linkItem(link, `${addresses.root}${PATHS[kind]}/${link.token}`))
        }</ul>`
    }${
      form(
        html`<div class="columns">`,
        input({ name: "label", label: "Name of a new link", hint: "For you alone." }),
        input({ name: "expires", label: "Last day", type: "date", hint: "Empty for a link without an end." }),
        html`</div>\n`,
        checkbox("allowDownload", "It opens files such as GPX too", true),
        button("addLink", "Make a link", "quiet")
      )
    }</section>\n`
  })

  const actions = (
    sharedOf: (visit: Visit) => Effect.Effect<Shared, unknown>,
    pathOf: (visit: Visit) => string,
    endpoints: Endpoints
  ): Readonly<Record<string, Action>> => ({
    addLink: {
      endpoint: endpoints.create,
      run: Effect.fnUntraced(function*(visit) {
        const { fields, session } = visit
        const given = {
          label: orNull(fields["label"]),
          expiresAt: endOf(fields["expires"]),
          allowDownload: isChecked(fields, "allowDownload")
        }
        yield* links.create(session.userId, yield* sharedOf(visit), yield* decodeForm(NewShareLink, given))
        return done(pathOf(visit), "made")
      })
    },
    removeLink: {
      endpoint: endpoints.remove,
      run: Effect.fnUntraced(function*(visit) {
        const link = yield* idOf(LinkIdFromPath, visit.fields["link"])
        yield* links.remove(visit.session.userId, yield* sharedOf(visit), link)
        return done(pathOf(visit), "revoked")
      })
    },
    replaceLink: {
      endpoint: endpoints.replace,
      run: Effect.fnUntraced(function*(visit) {
        const { userId } = visit.session
        yield* links.replaceShareToken(userId, yield* sharedOf(visit), Effect.void)
        // The views of routes have their share token.
        yield* views.refresh(userId)
        return done(pathOf(visit), "replaced")
      })
    }
  })

  return { section, actions }
})
