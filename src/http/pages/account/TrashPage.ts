import { Effect, Layer, type Schema } from "effect"
import { CollectionIdFromPath, RouteIdFromPath } from "../../../schema/Ids.ts"
import { MAX_LIMIT } from "../../../schema/Page.ts"
import type { Trashed } from "../../../schema/Resource.ts"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { CollectionTrash } from "../../../services/collections/CollectionRows.ts"
import { html } from "../../../services/operations/Html.ts"
import { RouteTrash, type Trash } from "../../../services/routes/RouteTrash.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import type { Endpoint } from "../../middleware/RateLimit.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { accountPageLayer, action, done, idOf } from "./AccountPage.ts"
import { button, confirmed, form, hidden } from "./Forms.ts"

/** The page shows more items once these are restored or erased. */
const SHOWN = { limit: MAX_LIMIT, offset: 0 }

/** The actions of each kind have names of their own. */
type Kind = "Route" | "Collection"

type Item = Trashed & { readonly id: number; readonly name: string }

const item = ({ trash }: Texts, kind: Kind) => ({ deletedAt, id, name, purgedAt }: Item) =>
  html`<li><div><strong>${name}</strong>
<p class="hint">${trash.facts(deletedAt, purgedAt)}</p></div>
${form(hidden("id", id), button(`restore${kind}`, trash.restore, "quiet", name))}${
    confirmed(
      trash.erase,
      trash.eraseWords,
      hidden("id", id),
      button(`purge${kind}`, trash.erase, "danger", name)
    )
  }</li>\n`

interface Deleted {
  readonly title: string
  readonly kind: Kind
  readonly found: { readonly items: ReadonlyArray<Item>; readonly total: number }
}

const list = (texts: Texts, { found: { items, total }, kind, title }: Deleted) => {
  const { trash } = texts
  return html`<h2>${title}</h2>
${
    total === 0
      ? html`<p>${trash.none}</p>`
      : html`<ul class="rows">${items.map(item(texts, kind))}</ul>
${confirmed(trash.eraseAll(total), trash.eraseAllWords, button(`empty${kind}s`, trash.eraseAllButton, "danger"))}`
  }`
}

const actionsOf = <Id extends number, A, E>(
  kind: Kind,
  trash: Trash<Id, A, E>,
  idFromPath: Schema.Codec<Id, string>,
  endpoints: Readonly<Record<"restore" | "purge" | "emptyTrash", Endpoint>>
) => ({
  [`restore${kind}`]: action(endpoints.restore, function*({ fields, session }) {
    yield* trash.restore(session.userId, yield* idOf(idFromPath, fields["id"]), { mayPublish: true })
    return done(ACCOUNT_PAGES.trash, "restored")
  }),
  [`purge${kind}`]: action(endpoints.purge, function*({ fields, session }) {
    yield* trash.purge(session.userId, yield* idOf(idFromPath, fields["id"]))
    return done(ACCOUNT_PAGES.trash, "erased")
  }),
  [`empty${kind}s`]: action(endpoints.emptyTrash, function*({ session }) {
    yield* trash.empty(session.userId)
    return done(ACCOUNT_PAGES.trash, "erased")
  })
})

export const trashPageLayer = Layer.unwrap(Effect.gen(function*() {
  const routes = yield* RouteTrash
  const collections = yield* CollectionTrash
  const { lists } = yield* Lanes

  return accountPageLayer({
    path: ACCOUNT_PAGES.trash,
    show: Effect.fnUntraced(function*({ session: { userId }, texts }) {
      const { trash } = texts
      const deletedRoutes = yield* lists(routes.list(userId, SHOWN, "summary"))
      const deletedCollections = yield* lists(collections.list(userId, SHOWN))
      return {
        title: trash.title,
        body: html`<p>${trash.lead}</p>
${list(texts, { title: trash.routes, kind: "Route", found: deletedRoutes })}
${list(texts, { title: trash.collections, kind: "Collection", found: deletedCollections })}`
      }
    }),
    actions: {
      ...actionsOf("Route", routes, RouteIdFromPath, Api.groups.routes.endpoints),
      ...actionsOf("Collection", collections, CollectionIdFromPath, Api.groups.collections.endpoints)
    }
  })
}))
