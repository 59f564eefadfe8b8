import { Effect, Layer, Option } from "effect"
import type { StoredCollection } from "../../../schema/Collection.ts"
import { CollectionRef } from "../../../schema/Ids.ts"
import type { StoredCollectionRoute } from "../../../schema/Route.ts"
import { Lanes } from "../../../services/admission/Lanes.ts"
import { Collections } from "../../../services/collections/Collections.ts"
import { html } from "../../../services/operations/Html.ts"
import { CountsUses } from "../../../services/sharing/LinkUses.ts"
import { configuredSite, type Site } from "../../../services/texts/Site.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { type PageLinks, pageLinks } from "../../response/ResourceJson.ts"
import { author, cardPage, cards, previewHead, previewPicture } from "./RouteParts.ts"
import { type SharedPage, sharedPageLayer } from "./SharedPage.ts"

const collectionSummary = ({ description, routeCount, user }: StoredCollection, { pages, shared }: Texts): string =>
  description ?? pages.collectionBy(shared.routes(routeCount), user.name)

const headOf = (
  collection: StoredCollection,
  routes: ReadonlyArray<StoredCollectionRoute>,
  ref: string,
  { root }: PageLinks,
  site: Site
) => {
  const url = `${root}c/${ref}`
  const pictured = routes.find(({ shareToken, visibility }) => shareToken !== undefined && visibility !== "private")
    ?.shareToken
  return previewHead(site, root, {
    title: collection.name,
    description: collectionSummary(collection, site.texts),
    url,
    pictured: pictured === undefined ? undefined : previewPicture(root, pictured),
    hasOEmbed: true,
    data: collection.visibility !== "public" ? undefined : {
      "@type": "ItemList",
      name: collection.name,
      url,
      numberOfItems: collection.routeCount,
      itemListElement: routes.filter(({ visibility }) => visibility === "public").map(({ shareToken }, index) => ({
        "@type": "ListItem",
        position: index + 1,
        url: `${root}r/${shareToken}`
      }))
    }
  })
}

/** Shows what `GET /collections/{ref}` and `GET /collections/{ref}/routes` return to the same viewer. */
export const collectionPageLayer = Layer.unwrap(Effect.gen(function*() {
  const collections = yield* Collections
  const links = yield* pageLinks
  const { lists, publicLists } = yield* Lanes
  const site = yield* configuredSite
  return sharedPageLayer(
    SHARED_PAGES.collection,
    CollectionRef,
    Effect.fnUntraced(function*({ query, ref, root, units, viewer }) {
      const page = cardPage(query)
      const stored = yield* collections.get(ref, viewer)
      // The link of a public collection shows its unlisted routes, too.
      const visibility = stored.visibility === "public" && typeof ref === "string" ? "unlisted" : stored.visibility
      const { description, name, user } = stored
      const found = collections.routes(ref, viewer, page, "summary")
      const routes = yield* (Option.isNone(viewer) ? publicLists(found) : lists(found)).pipe(
        Effect.provideService(CountsUses, false)
      )
      const collection = { ...stored, visibility, routeCount: routes.total }
      const { pages, shared } = site.texts
      const shown: SharedPage = {
        title: name,
        visibility,
        head: visibility === "private" ? undefined : headOf(collection, routes.items, String(ref), links, site),
        body: html`<p class="lead">${pages.collectedBy(shared.routes(routes.total), author(user, root))}</p>
${description === undefined ? html`` : html`<p class="text">${description}</p>`}
${cards(routes, { offset: page.offset, root, texts: site.texts, units })}`
      }
      return shown
    })
  )
}))
