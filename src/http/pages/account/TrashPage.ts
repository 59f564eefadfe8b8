import { Effect, Layer } from "effect"
import { CollectionIdFromPath, RouteIdFromPath } from "../../../schema/Ids.ts"
import { MAX_LIMIT } from "../../../schema/Page.ts"
import type { Trashed } from "../../../schema/Resource.ts"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { CollectionTrash } from "../../../services/collections/CollectionRows.ts"
import { html } from "../../../services/operations/Html.ts"
import { RouteTrash } from "../../../services/routes/RouteTrash.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { accountPageLayer, type Action, done, idOf, type Visit } from "./AccountPage.ts"
import { button, confirmed, form, hidden } from "./Forms.ts"

/** The page shows more items once these are restored or erased. */
const SHOWN = { limit: MAX_LIMIT, offset: 0 }

interface Kind {
  readonly restore: string
  readonly purge: string
  readonly empty: string
}

type Item = Trashed & { readonly id: number; readonly name: string }

const ROUTES: Kind = { restore: "restoreRoute", purge: "purgeRoute", empty: "emptyRoutes" }

const COLLECTIONS: Kind = { restore: "restoreCollection", purge: "purgeCollection", empty: "emptyCollections" }

const item = ({ trash }: Texts, { purge, restore }: Kind) => ({ deletedAt, id, name, purgedAt }: Item) =>
  html`<li><div><strong>${name}</strong>
<p class="hint">${trash.facts(deletedAt, purgedAt)}</p></div>
${form(hidden("id", id), button(restore, trash.restore, "quiet", name))}${
    confirmed(
      trash.erase,
      html`<p>${trash.eraseWords}</p>`,
      hidden("id", id),
      button(purge, trash.erase, "danger", name)
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
${
        confirmed(
          trash.eraseAll(total),
          html`<p>${trash.eraseAllWords}</p>`,
          button(kind.empty, trash.eraseAllButton, "danger")
        )
      }`
  }`
}

const acting = (
  endpoint: Action["endpoint"],
  word: Parameters<typeof done>[1],
  work: (visit: Visit) => Effect.Effect<unknown, unknown>
): Action => ({ endpoint, run: (visit) => Effect.as(work(visit), done(ACCOUNT_PAGES.trash, word)) })

const routeId = ({ fields }: Visit) => idOf(RouteIdFromPath, fields["id"])
const collectionId = ({ fields }: Visit) => idOf(CollectionIdFromPath, fields["id"])

export const trashPageLayer = Layer.unwrap(Effect.gen(function*() {
  const routes = yield* RouteTrash
  const collections = yield* CollectionTrash
  const { lists } = yield* Lanes
  const { collections: { endpoints: collectionsApi }, routes: { endpoints: routesApi } } = Api.groups

  return accountPageLayer({
    path: ACCOUNT_PAGES.trash,
    show: Effect.fnUntraced(function*({ session: { userId }, texts }) {
      const { trash } = texts
      const deletedRoutes = yield* lists(routes.list(userId, SHOWN, "summary"))
      const deletedCollections = yield* lists(collections.list(userId, SHOWN))
      return {
        title: trash.title,
        body: html`<p>${trash.lead}</p>
${list(texts, { title: trash.routes, kind: ROUTES, found: deletedRoutes })}
${list(texts, { title: trash.collections, kind: COLLECTIONS, found: deletedCollections })}`
      }
    }),
    actions: {
      [ROUTES.restore]: acting(
        routesApi.restore,
        "restored",
        (visit) =>
          Effect.flatMap(routeId(visit), (id) => routes.restore(visit.session.userId, id, { mayPublish: true }))
      ),
      [ROUTES.purge]: acting(
        routesApi.purge,
        "erased",
        (visit) => Effect.flatMap(routeId(visit), (id) => routes.purge(visit.session.userId, id))
      ),
      [ROUTES.empty]: acting(routesApi.emptyTrash, "erased", ({ session }) => routes.empty(session.userId)),
      [COLLECTIONS.restore]: acting(collectionsApi.restore, "restored", (visit) =>
        Effect.flatMap(
          collectionId(visit),
          (id) => collections.restore(visit.session.userId, id, { mayPublish: true })
        )),
      [COLLECTIONS.purge]: acting(
        collectionsApi.purge,
        "erased",
        (visit) => Effect.flatMap(collectionId(visit), (id) => collections.purge(visit.session.userId, id))
      ),
      [COLLECTIONS.empty]: acting(
        collectionsApi.emptyTrash,
        "erased",
        ({ session }) => collections.empty(session.userId)
      )
    }
  })
}))
