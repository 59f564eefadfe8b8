import { Effect, Layer, Option, Schema } from "effect"
import { RouteRef } from "../../../schema/Ids.ts"
import { FILE_FORMATS } from "../../../schema/Import.ts"
import type { StoredRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { Routes } from "../../../services/routes/Routes.ts"
import { configuredSite, type Site } from "../../../services/texts/Site.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { type PageLinks, pageLinks } from "../../response/ResourceJson.ts"
import { type RouteMap, routeMap } from "./RouteMap.ts"
import {
  attribution,
  author,
  facts,
  formatName,
  picture,
  placeText,
  previewHead,
  previewPicture,
  summaryOf
} from "./RouteParts.ts"
import { missingPage, type SharedPage, sharedPageLayer } from "./SharedPage.ts"

export const decodeRouteRef = Schema.decodeUnknownOption(RouteRef)

interface Surroundings {
  readonly links: PageLinks
  readonly map: RouteMap | undefined
  readonly ref: string
  readonly root: string
  readonly site: Site
}

const SHOTS = {
  wide: { width: 960, height: 600, profile: true },
  narrow: { width: 400, height: 440, profile: true }
}

const ALT =
  "The line of the route on a plain ground, from its start (a round mark) to its end (a square one), and its elevation "
  + "profile where it is known"

const dataOf = (
  route: StoredRoute,
  { ref, root, texts, url }: {
    readonly ref: string
    readonly root: string
    readonly texts: Texts
    readonly url: string
  }
) => ({
  "@type": "Trip",
  name: route.name,
  ...(route.description === undefined ? {} : { description: route.description }),
  url,
  image: previewPicture(root, ref),
  provider: { "@type": "Person", name: route.user.name, url: `${root}u/${route.user.handle}` },
  ...(placeText(route, texts) === undefined
    ? {}
    : { itinerary: { "@type": "Place", name: placeText(route, texts) } })
})

const headOf = (route: StoredRoute, ref: string, { root }: PageLinks, site: Site): Html => {
  const { texts } = site
  const url = `${root}r/${ref}`
  return previewHead(site, root, {
    title: route.name,
    description: summaryOf(route, texts) || "A planned route",
    url,
    pictured: ref,
    hasOEmbed: true,
    data: route.visibility === "public" ? dataOf(route, { ref, root, texts, url }) : undefined
  })
}

const downloads = (ref: string, root: string) =>
  html`<h2>Download</h2>
<ul class="files">${
    FILE_FORMATS.map((format) =>
      html`<li><a href="${root}api/v1/routes/${ref}/${format}">${formatName(format)}</a></li>`
    )
  }</ul>`

const named = (term: string, text: string | undefined) =>
  text === undefined ? html`` : html`<p><strong>${term}:</strong> ${text}</p>`

const paragraph = (text: string | undefined) => text === undefined ? html`` : html`<p class="text">${text}</p>`

const tags = ({ tags }: StoredRoute) =>
  tags.length === 0 ? html`` : html`<ul class="tags" aria-label="Tags">${tags.map((tag) => html`<li>${tag}</li>`)}</ul>`

const placeOf = (route: StoredRoute, texts: Texts) => {
  const place = placeText(route, texts)
  return place === undefined ? html`` : html` in ${place}`
}

const bodyOf = (route: StoredRoute, { map, ref, root, site: { texts } }: Surroundings): Html =>
  html`<p class="lead">By ${author(route.user, root)}${placeOf(route, texts)}</p>
${facts(route, texts)}
${map?.body(route, ref, root)}
<figure>${picture(ref, SHOTS, ALT, root)}</figure>
${paragraph(route.description)}
${tags(route)}
${named("Start", route.startAddress)}
${named("End", route.endAddress)}
${route.allowDownload === false ? html`` : downloads(ref, root)}
${attribution(route, texts)}`

const pageOf = (route: StoredRoute, surroundings: Surroundings): SharedPage => ({
  title: route.name,
  visibility: route.visibility,
  head: html`${
    route.visibility === "private"
      ? html``
      : headOf(route, surroundings.ref, surroundings.links, surroundings.site)
  }${surroundings.map?.head(surroundings.root)}`,
  body: bodyOf(route, surroundings),
  policy: surroundings.map?.policy ?? {}
})

/** Shows what `GET /routes/{ref}` returns to the same viewer. */
export const routePageLayer = Layer.unwrap(Effect.gen(function*() {
  const links = yield* pageLinks
  const map = Option.getOrUndefined(yield* routeMap)
  const routes = yield* Routes
  const site = yield* configuredSite
  return sharedPageLayer(
    SHARED_PAGES.route,
    Effect.fnUntraced(function*({ name, root, viewer }) {
      const ref = decodeRouteRef(name)
      if (Option.isNone(ref)) return yield* missingPage
      return pageOf(yield* routes.get(ref.value, viewer, "none"), {
        links,
        map,
        ref: String(ref.value),
        root,
        site
      })
    })
  )
}))
