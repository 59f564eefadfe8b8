import { Effect, Layer, Option } from "effect"
import {
  Addition,
  CollectionPatch,
  MAX_ROUTES,
  NewCollection,
  type StoredCollection
} from "../../../schema/Collection.ts"
import type { ServiceError } from "../../../schema/Errors.ts"
import { CollectionIdFromPath, RouteIdFromPath, type UserId } from "../../../schema/Ids.ts"
import { MAX_LIMIT, type PageOf } from "../../../schema/Page.ts"
import type { StoredCollectionRoute, StoredRoute } from "../../../schema/Route.ts"
import { OwnRoutesQuery } from "../../../schema/RouteSearch.ts"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { Collections } from "../../../services/collections/Collections.ts"
import { Missing } from "../../../services/DomainErrors.ts"
import { html } from "../../../services/operations/Html.ts"
import { OwnRoutes } from "../../../services/routes/RouteLists.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { Api } from "../../api/Api.ts"
import { ACCOUNT_PAGES } from "../../request/RouteTemplates.ts"
import type { Fields } from "../layout/PageRoutes.ts"
import { cardPage, pagesAround, picture, summaryOf } from "../shared/RouteParts.ts"
import type { Units } from "../shared/Units.ts"
import { accountPageLayer, action, done, idOf, type Visit } from "./AccountPage.ts"
import {
  ACTION,
  button,
  changedMeanwhile,
  confirmed,
  decodeForm,
  describedBy,
  expectedIn,
  fieldsOf,
  form,
  hidden,
  orNull,
  rows,
  searched,
  select,
  versionField
} from "./Forms.ts"
import { makeSharing } from "./Sharing.ts"

const COLLECTIONS = ACCOUNT_PAGES.collections.slice(1)

const ROUTES = ACCOUNT_PAGES.routes.slice(1)

const { collections: { endpoints: api }, links } = Api.groups

const item = (
  texts: Texts,
  { description, id, name, routeCount, visibility }: StoredCollection,
  root: string
) =>
  html`<li><div><strong><a href="${root}${COLLECTIONS}/${id}">${name}</a></strong>
<p class="hint">${texts.routes.count(routeCount)}, ${texts.visibility[visibility]}${
    description === undefined ? "" : `. ${description}`
  }</p></div></li>\n`

const fieldsIn = (
  texts: Texts,
  { fields, refusal }: Partial<Visit>,
  { description, name, visibility }: Partial<StoredCollection> = {}
) => {
  const { input, select, textarea } = fieldsOf(texts, { description, name, visibility, ...fields }, refusal)
  return [
    input("name", { required: true }),
    textarea("description"),
    select("visibility", Object.entries(texts.visibilities))
  ]
}

const given = (fields: Fields, stored?: StoredCollection) => ({
  ...describedBy(fields, stored),
  visibility: fields["visibility"]
})

const collectionsLayer = Layer.unwrap(Effect.gen(function*() {
  const collections = yield* Collections
  const { lists } = yield* Lanes
  return accountPageLayer({
    path: ACCOUNT_PAGES.collections,
    show: Effect.fnUntraced(function*(visit) {
      const { query, root, session: { userId }, texts } = visit
      const words = texts.collections
      const { limit, offset } = cardPage(query)
      const found = yield* lists(collections.list(userId, undefined, { limit, offset }))
      return {
        title: words.title,
        body: html`<p>${words.lead}</p>
${rows(texts, found.items, (collection) => item(texts, collection, root))}
${pagesAround(found, { limit, offset }, texts, [words.previous, words.more])}
<h2>${words.make}</h2>
${form(...fieldsIn(texts, visit), button("create", words.makeButton))}`
      }
    }),
    actions: {
      create: action(api.create, function*({ fields, session }) {
        const { id } = yield* collections.create(session.userId, yield* decodeForm(NewCollection, given(fields)))
        return done(`${ACCOUNT_PAGES.collections}/${id}`, "saved")
      })
    }
  })
}))

const pathOf = ({ params }: Visit) => `${ACCOUNT_PAGES.collections}/${params["id"]}`

const requireId = ({ params }: Visit) => idOf(CollectionIdFromPath, params["id"])

const SHOTS = { wide: { width: 160, height: 100 }, isLazy: true }

const member = (
  { id, name, ...route }: StoredCollectionRoute,
  owner: UserId,
  { index, last, root, texts, units }: {
    readonly index: number
    readonly last: number
    readonly root: string
    readonly texts: Texts
    readonly units: Units
  }
) =>
  html`<li id="route-${id}"><div class="pictured">${picture(String(id), SHOTS, "", root)}
<div><strong><a href="${root}${
    route.user.id === owner ? `${ROUTES}/${id}` : `r/${route.shareToken ?? id}`
  }">${name}</a></strong>
<p class="hint">${summaryOf({ id, name, ...route }, texts, units)}</p></div></div>
<form method="post" class="actions">
${hidden("route", id)}${hidden("index", index)}
${index === 0 ? undefined : button("up", texts.collections.up, "quiet", name)}${
    index === last ? undefined : button("down", texts.collections.down, "quiet", name)
  }${button("removeRoute", texts.collections.remove, "quiet", name)}
</form></li>\n`

const searchIn = ({ query }: Visit) => orNull(query.get("q"))

/** A list that is too long for a choice can be searched. */
const searchForm = (texts: Texts, search: string | null, own: PageOf<StoredRoute>, error?: ServiceError) => {
  const { collections, common } = texts
  return search === null && own.total <= own.items.length
    ? undefined
    : html`<form method="get" role="search" aria-label="${collections.search}">
${
      fieldsOf(texts, { q: search }, error).input("q", { label: collections.search, type: "search" })
    }<button class="quiet">${common.find}</button>
</form>
`
}

const noneToAdd = ({ collections, routes }: Texts, search: string | null, own: ReadonlyArray<StoredRoute>) => {
  if (own.length > 0) return collections.allAdded
  return search === null ? routes.noRoutes : routes.notFound
}

const addForm = (
  texts: Texts,
  search: string | null,
  own: ReadonlyArray<StoredRoute>,
  known: ReadonlySet<number>
) => {
  const { collections } = texts
  const others = own.filter(({ id }) => !known.has(id))
  return others.length === 0
    ? html`<p>${noneToAdd(texts, search, own)}</p>`
    : form(
      select(
        { name: "route", label: collections.oneOfMine },
        others.map(({ id, name }) => [String(id), name] as const)
      ),
      button("addRoute", collections.add, "quiet")
    )
}

const routeIn = ({ fields }: Visit) => idOf(RouteIdFromPath, fields["route"])

const collectionLayer = Layer.unwrap(Effect.gen(function*() {
  const collections = yield* Collections
  const ownRoutes = yield* OwnRoutes
  const { lists } = yield* Lanes
  const sharing = yield* makeSharing

  const own = Effect.fnUntraced(function*(visit: Visit) {
    const { userId } = visit.session
    const collection = yield* collections.get(yield* requireId(visit), Option.some(userId))
    return collection.user.id === userId ? collection : yield* new Missing({ kind: "collection" })
  })

  const show = Effect.fnUntraced(function*(visit: Visit) {
    const { fields, root, session: { userId }, texts } = visit
    const words = texts.collections
    const units = yield* visit.units
    const collection = yield* own(visit)
    const { id, routeIds, shareToken, visibility } = collection
    const viewer = Option.some(userId)
    const { items } = yield* lists(collections.routes(id, viewer, { limit: MAX_ROUTES, offset: 0 }, "summary"))
    const search = searchIn(visit)
    const { error, filter } = yield* searched(decodeForm(OwnRoutesQuery, search === null ? {} : { q: search }), {})
    const mine = yield* lists(ownRoutes.list(userId, filter, { limit: MAX_LIMIT, offset: 0 }, "summary"))
    const isRefused = fields[ACTION] === "save"
    return {
      title: collection.name,
      error,
      body: html`<p><a href="${root}c/${visibility === "private" ? id : shareToken}">${words.seePage}</a></p>
<h2>${texts.routes.count(routeIds.length)}</h2>
${
        items.length === 0
          ? undefined
          : html`<ol class="rows">${
            items.map((route, index) => member(route, userId, { index, last: items.length - 1, root, texts, units }))
          }</ol>`
      }
${searchForm(texts, search, mine, error)}${addForm(texts, search, mine.items, new Set(routeIds))}
<h2>${words.change}</h2>
${
        form(
          versionField(fields, visit.refusal, collection.version),
          ...fieldsIn(texts, isRefused ? visit : {}, collection),
          button("save", texts.common.save)
        )
      }${yield* sharing.section(visit, { kind: "collection", id }, collection)}<h2>${words.delete}</h2>
${confirmed(words.deleteButton, words.deleteWords, button("delete", words.deleteButton, "danger"))}`
    }
  })

  const moved = (step: number) =>
    action(api.addRoute, function*(visit) {
      const routeId = yield* routeIn(visit)
      const place = yield* decodeForm(Addition, { routeId, position: Number(visit.fields["index"]) + step })
      yield* collections.addRoute(visit.session.userId, yield* requireId(visit), place, undefined)
      return done(pathOf(visit), "saved", `#route-${routeId}`)
    })

  return accountPageLayer({
    path: ACCOUNT_PAGES.collection,
    show,
    actions: {
      ...sharing.actions((visit) => Effect.map(requireId(visit), (id) => ({ kind: "collection", id })), pathOf, {
        create: links.endpoints.createForCollection,
        remove: links.endpoints.removeOfCollection,
        replace: links.endpoints.replaceCollectionShareToken
      }),
      save: action(api.update, function*(visit) {
        const patch = yield* decodeForm(CollectionPatch, given(visit.fields, yield* own(visit)))
        yield* collections.update(visit.session.userId, yield* requireId(visit), patch, expectedIn(visit.fields))
          .pipe(
            Effect.catchTag("StaleVersion", changedMeanwhile)
          )
        return done(pathOf(visit), "saved")
      }),
      up: moved(-1),
      down: moved(1),
      addRoute: action(api.addRoute, function*(visit) {
        const routeId = yield* routeIn(visit)
        yield* collections.addRoute(visit.session.userId, yield* requireId(visit), { routeId }, undefined)
        return done(pathOf(visit), "saved")
      }),
      removeRoute: action(api.removeRoute, function*(visit) {
        const routeId = yield* routeIn(visit)
        yield* collections.removeRoute(visit.session.userId, yield* requireId(visit), routeId, undefined)
        return done(pathOf(visit), "saved")
      }),
      delete: action(api.remove, function*(visit) {
        yield* collections.remove(visit.session.userId, yield* requireId(visit), undefined)
        return done(ACCOUNT_PAGES.collections, "deleted")
      })
    }
  })
}))

export const collectionPagesLayer = Layer.mergeAll(collectionsLayer, collectionLayer)
