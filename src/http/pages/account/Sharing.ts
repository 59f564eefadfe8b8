import { Effect } from "effect"
import { LinkIdFromPath } from "../../../schema/Ids.ts"
import type { Visibility } from "../../../schema/Resource.ts"
import { NewShareLink, type ShareLink } from "../../../schema/ShareLink.ts"
import { inOneLine } from "../../../schema/Text.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { RouteViews } from "../../../services/routes/RouteViews.ts"
import { type Shared, ShareLinks } from "../../../services/sharing/ShareLinks.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import type { Endpoint } from "../../middleware/RateLimit.ts"
import { type PageLinks, pageLinks } from "../../response/ResourceJson.ts"
import { action, done, idOf, type Visit } from "./AccountPage.ts"
import {
  ACTION,
  button,
  checkbox,
  confirmed,
  copyField,
  decodeForm,
  fieldsOf,
  form,
  hidden,
  isChecked,
  orNull
} from "./Forms.ts"

const PATHS = { route: "r", collection: "c" } as const

const linkItem = (texts: Texts, link: ShareLink, address: string) => {
  const { sharing } = texts
  const name = link.label === null || link.label === "" ? sharing.unnamed(link.id) : inOneLine(link.label)
  return html`<li><div>${copyField(texts, `link-${link.id}`, name, address)}
<p class="hint">${sharing.facts(link)}</p></div>
${form(hidden("link", link.id), button("removeLink", sharing.remove, "quiet", name))}</li>\n`
}

interface SharedResource {
  readonly shareToken?: string | undefined
  readonly visibility: Visibility
}

/** A date has no time, so a link ends with the day in UTC. */
const endOf = (date: string | undefined) => {
  const given = orNull(date)
  return given === null ? null : `${given}T23:59:59Z`
}

const shownLink = (
  texts: Texts,
  { kind }: Shared,
  { shareToken, visibility }: SharedResource,
  { root }: PageLinks
): Html => {
  const { sharing } = texts
  return visibility === "private" || shareToken === undefined
    ? html`<p>${sharing.isPrivate}</p>\n`
    : html`${copyField(texts, "share", sharing.link, `${root}${PATHS[kind]}/${shareToken}`)}${
      confirmed(sharing.replace, sharing.replaceWords, button("replaceLink", sharing.replace, "danger"))
    }`
}

interface Endpoints {
  readonly create: Endpoint
  readonly remove: Endpoint
  readonly replace: Endpoint
}

export const makeSharing = Effect.gen(function*() {
  const addresses = yield* pageLinks
  const links = yield* ShareLinks
  const views = yield* RouteViews

  const section = Effect.fnUntraced(function*(
    { fields: sent, refusal, session, texts }: Visit,
    shared: Shared,
    resource: SharedResource
  ) {
    const { sharing } = texts
    const given = sent[ACTION] === "addLink" ? sent : undefined
    const { input } = fieldsOf(texts, { ...given, expiresAt: given?.["expires"] }, given && refusal)
    const all = yield* links.list(session.userId, shared)
    return html`<section aria-labelledby="sharing"><h2 id="sharing">${sharing.title}</h2>
${shownLink(texts, shared, resource, addresses)}<h3>${sharing.more}</h3>
${
      all.length === 0
        ? undefined
        : html`<ul class="rows">${
          all.map((link) => linkItem(texts, link, `${addresses.root}${PATHS[shared.kind]}/${link.token}`))
        }</ul>`
    }${
      form(
        html`<div class="columns">`,
        input("label", { label: sharing.label, hint: sharing.labelHint }),
        input("expiresAt", { name: "expires", type: "date", hint: sharing.expiresHint }),
        html`</div>\n`,
        checkbox("allowDownload", sharing.allowDownload, given === undefined || isChecked(given, "allowDownload")),
        button("addLink", sharing.make, "quiet")
      )
    }</section>\n`
  })

  const actions = (
    sharedOf: (visit: Visit) => Effect.Effect<Shared, unknown>,
    pathOf: (visit: Visit) => string,
    endpoints: Endpoints
  ) => ({
    addLink: action(endpoints.create, function*(visit) {
      const { fields, session } = visit
      const given = {
        label: orNull(fields["label"]),
        expiresAt: endOf(fields["expires"]),
        allowDownload: isChecked(fields, "allowDownload")
      }
      yield* links.create(session.userId, yield* sharedOf(visit), yield* decodeForm(NewShareLink, given))
      return done(pathOf(visit), "made")
    }),
    removeLink: action(endpoints.remove, function*(visit) {
      const link = yield* idOf(LinkIdFromPath, visit.fields["link"])
      yield* links.remove(visit.session.userId, yield* sharedOf(visit), link)
      return done(pathOf(visit), "revoked")
    }),
    replaceLink: action(endpoints.replace, function*(visit) {
      const { userId } = visit.session
      // The views of routes contain share tokens.
      yield* links.replaceShareToken(userId, yield* sharedOf(visit), views.refresh(userId))
      return done(pathOf(visit), "replaced")
    })
  })

  return { section, actions }
})
