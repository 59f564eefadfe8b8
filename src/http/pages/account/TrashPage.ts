import { Effect, Layer } from "effect"
import { CollectionIdFromPath, RouteIdFromPath } from "../../../schema/Ids.ts"
import { GRACE_PERIOD, inWords } from "../../../schema/Limits.ts"
import { MAX_LIMIT } from "../../../schema/Page.ts"
import type { Trashed } from "../../../schema/Resource.ts"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { CollectionTrash } from "../../../services/collections/CollectionTrash.ts"
import { html } from "../../../services/operations/Html.ts"
import { RouteTrash } from "../../../services/routes/RouteTrash.ts"
import { Api } from "../../api/Api.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import { accountPageLayer, type Action, done, idOf, type Visit } from "./AccountPage.ts"
import { button, confirmed, day, form, hidden } from "./Forms.ts"

/** More are shown when these are restored or erased. */
const SHOWN = { limit: MAX_LIMIT, offset: 0 }

interface Kind {
  readonly restore: string
  readonly purge: string
  readonly empty: string
}

const ROUTES: Kind = { restore: "restoreRoute", purge: "purgeRoute", empty: "emptyRoutes" }

const COLLECTIONS: Kind = { restore: "restoreCollection", purge: "purgeCollection", empty: "emptyCollections" }

const item =
  ({ purge, restore }: Kind) => ({ deletedAt, id, name, purgedAt }: Trashed & { id: number; name: string }) =>
    html`<li><div><strong>${name}</strong>
<p class="hint">Deleted on ${day(deletedAt)}, erased on ${day(purgedAt)}.</p></div>
${form(hidden("id", id), button(restore, "Restore", "quiet", name))}${
      confirmed(
        "Erase",
        html`<p>It is erased for good.</p>`,
        hidden("id", id),
        button(purge, "Erase", "danger", name)
      )
    }</li>\n`

const list = (
  title: string,
  kind: Kind,
  { items, total }: { readonly items: ReadonlyArray<Trashed & { id: number; name: string }>; readonly total: number }
) =>
  html`<h2>${title}</h2>
${
    total === 0
      ? html`<p>There are none in the trash.</p>`
      : html`<ul class="rows">${items.map(item(kind))}</ul>
${confirmed(`Erase all ${total}`, html`<p>They are erased for good.</p>`, button(kind.empty, "Erase all", "danger"))}`
  }`

const acting = (
  endpoint: Action["endpoint"],
  word: string,
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
    show: Effect.fnUntraced(function*({ session: { userId } }) {
      const deletedRoutes = yield* lists(routes.list(userId, SHOWN, "none"))
      const deletedCollections = yield* lists(collections.list(userId, SHOWN))
      return {
        title: "Trash",
        body: html`<p>What is here can be restored for ${
          inWords(GRACE_PERIOD)
        } after it was deleted. A restored route is seen by
those who saw it before.</p>
${list("Routes", ROUTES, deletedRoutes)}
${list("Collections", COLLECTIONS, deletedCollections)}`
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
