import { Effect, Layer, Option } from "effect"
import { RouteRef } from "../../../schema/Ids.ts"
import type { StoredRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { Routes } from "../../../services/routes/Routes.ts"
import type { RouteSheet } from "../../../services/routes/RouteSheet.ts"
import { RouteSheets } from "../../../services/routes/RouteSheets.ts"
import { configuredSite, type Site } from "../../../services/texts/Site.ts"
import { SHARED_PAGES } from "../../request/RouteTemplates.ts"
import { type PageLinks, pageLinks } from "../../response/ResourceJson.ts"
import { assetLayer, readAsset } from "../layout/Assets.ts"
import { profile, share, stops, surfaceBar, surfaceText } from "./RouteDetails.ts"
import { type RouteMap, routeMap } from "./RouteMap.ts"
import {
  attribution,
  author,
  cardAddress,
  downloads,
  factList,
  type Facts,
  factsOf,
  frameOf,
  picture,
  placeText,
  previewHead,
  summaryOf,
  tagLinks
} from "./RouteParts.ts"
import { type SharedPage, sharedPageLayer } from "./SharedPage.ts"
import { heightText, type Units } from "./Units.ts"

const SCRIPT = readAsset(import.meta.dirname, "route", "js")

const NARROW = { width: 400, height: 360 }

const SHOTS = { wide: { width: 960, height: 540 }, narrow: NARROW }

/** A picture that a map replaces is a small one, of the simplified line. */
const SHOTS_BELOW_MAP = { wide: { width: 400, height: 225 }, narrow: NARROW }

interface Shown {
  readonly route: StoredRoute
  readonly ref: string
  /** The share token is known also if the page was opened by the id. */
  readonly token: string
  readonly root: string
  readonly site: Site
  readonly units: Units
  readonly links: PageLinks
  /** A map draws the line of the sheet. */
  readonly map: RouteMap | undefined
  /** The sheet is absent under load. */
  readonly sheet: RouteSheet | undefined
}

const dataOf = ({ links: { root }, ref, route, site: { texts } }: Shown, url: string) => ({
  "@type": "Trip",
  name: route.name,
  ...(route.description === undefined ? {} : { description: route.description }),
  url,
  image: cardAddress(root, ref),
  provider: { "@type": "Person", name: route.user.name, url: `${root}u/${route.user.handle}` },
  ...(placeText(route, texts) === undefined ? {} : { itinerary: { "@type": "Place", name: placeText(route, texts) } })
})

const urlOf = ({ links: { root }, ref }: Pick<Shown, "links" | "ref">) => `${root}r/${ref}`

const headOf = (shown: Shown): Html => {
  const { links, ref, route, site, units } = shown
  const { root } = links
  // A public route is one page to search engines, whichever of its addresses was opened.
  const url = urlOf({ links, ref: route.visibility === "public" ? route.shareToken : ref })
  return previewHead(site, root, {
    title: route.name,
    description: summaryOf(route, site.texts, units) || site.texts.pages.planned,
    url,
    pictured: cardAddress(root, ref),
    hasOEmbed: true,
    data: route.visibility === "public" ? dataOf(shown, url) : undefined
  })
}

const allFacts = ({ route, sheet, site: { texts }, units }: Shown): Facts => {
  const { pages, shared, wording } = texts
  const height = (metres: number | undefined) => metres === undefined ? undefined : heightText(metres, texts, units)
  const { descent, highest, lowest, steepest } = sheet?.climb ?? {}
  const { activity, climb, distance, time } = factsOf(route, texts, units)
  return [
    [shared.facts.distance, distance],
    [shared.facts.climb, climb],
    [pages.facts.descent, height(descent)],
    [pages.facts.highest, height(highest)],
    [pages.facts.lowest, height(lowest)],
    [pages.facts.steepest, steepest === undefined ? undefined : `${wording.number(steepest)} %`],
    [shared.facts.time, time],
    [shared.facts.activity, activity],
    [pages.facts.surface, surfaceText(route, texts)],
    [pages.facts.added, wording.date(route.createdAt)]
  ]
}

const OTHER_UNITS = { metric: "imperial", imperial: "metric" } as const

const startLink = ({ sheet, site: { texts } }: Shown) =>
  sheet?.start === undefined
    ? undefined
    : html`<a href="geo:${sheet.start[1]},${sheet.start[0]}">${texts.pages.openStart}</a>`

const ends = (shown: Shown) => {
  const { route: { endAddress, startAddress }, site: { texts: { pages } } } = shown
  const start = [startAddress === undefined ? undefined : html`${startAddress}`, startLink(shown)].flatMap((part) =>
    part === undefined ? [] : [part]
  )
  const [first, second] = start
  return html`${
    first === undefined
      ? undefined
      : html`<p><strong>${pages.start}</strong> ${first}${second === undefined ? undefined : html` · ${second}`}</p>\n`
  }${endAddress === undefined ? undefined : html`<p><strong>${pages.end}</strong> ${endAddress}</p>\n`}`
}

const paragraph = (text: string | undefined) => text === undefined ? html`` : html`<p class="text">${text}</p>\n`

const bodyOf = (shown: Shown): Html => {
  const { links, map, ref, root, route, sheet, site: { texts }, token, units } = shown
  const { pages } = texts
  return html`<p class="lead">${pages.by(author(route.user, root), placeText(route, texts))}</p>
<section class="drawing" data-units="${units}" aria-label="${pages.drawing}">
<div class="ground">
${picture(ref, map === undefined ? SHOTS : SHOTS_BELOW_MAP, pages.lineAlt, root)}
${sheet === undefined ? undefined : map?.body({ ...shown, sheet })}</div>
${sheet === undefined ? undefined : profile(sheet, texts, units)}</section>
${factList(allFacts(shown))}
<p class="hint units"><a href="?units=${OTHER_UNITS[units]}" rel="nofollow">${pages.otherUnits[units]}</a></p>
${paragraph(route.description)}${tagLinks(route.tags, texts, root)}${ends(shown)}${surfaceBar(route, texts, units)}${
    route.allowDownload === false ? undefined : downloads(ref, root, texts)
  }${route.visibility === "private" ? undefined : share(urlOf(shown), frameOf(links.root, token, route.name), texts)}${
    sheet === undefined ? undefined : stops(sheet, texts, units)
  }${attribution(route, texts)}`
}

const pageOf = (shown: Shown): SharedPage => {
  const { map, root, route } = shown
  return {
    title: route.name,
    visibility: route.visibility,
    head: html`${route.visibility === "private" ? html`` : headOf(shown)}<script type="module" src="${root}${
      SCRIPT.path.slice(1)
    }"></script>
${map?.head(root)}`,
    body: bodyOf(shown),
    policy: { "script-src": "'self'", ...map?.policy }
  }
}

const pageLayer = Layer.unwrap(Effect.gen(function*() {
  const links = yield* pageLinks
  const map = yield* routeMap
  const routes = yield* Routes
  const sheets = yield* RouteSheets
  const site = yield* configuredSite
  return sharedPageLayer(
    SHARED_PAGES.route,
    RouteRef,
    Effect.fnUntraced(function*({ ref, root, units, viewer }) {
      const route = yield* routes.get(ref, viewer, "none")
      // The page is worth showing without measures that take long.
      const sheet = yield* sheets.of(ref, viewer, route).pipe(
        Effect.catchTag("Overloaded", () => Effect.succeed(undefined))
      )
      return pageOf({
        route,
        sheet,
        units,
        links,
        root,
        site,
        map: sheet === undefined ? undefined : Option.getOrUndefined(yield* map),
        ref: String(ref),
        token: typeof ref === "string" ? ref : route.shareToken
      })
    })
  )
}))

/** Shows what `GET /routes/{ref}` returns to the same viewer. */
export const routePageLayer = Layer.merge(pageLayer, assetLayer(SCRIPT))
