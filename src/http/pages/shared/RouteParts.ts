import { FILE_FORMATS, type FileFormat } from "../../../schema/Import.ts"
import type { PageOf } from "../../../schema/Page.ts"
import { attributionOf, type PictureFormat } from "../../../schema/Picture.ts"
import type { StoredCollectionRoute, StoredRoute } from "../../../schema/Route.ts"
import { withoutFormat } from "../../../schema/Text.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { CARD } from "../../../services/pictures/Card.ts"
import type { Site } from "../../../services/texts/Site.ts"
import type { SharedTexts } from "../../../services/texts/SiteEnglish.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { distanceText, heightText, type Units } from "./Units.ts"

/** The symbols of the units are those of all languages, and short enough for one line on a phone. */
const durationText = (seconds: number, { wording }: Texts): string => {
  const minutes = Math.round(seconds / 60)
  const hours = Math.floor(minutes / 60)
  return hours === 0
    ? `${minutes}\u00a0min`
    : `${wording.number(hours)}\u00a0h\u00a0${String(minutes % 60).padStart(2, "0")}\u00a0min`
}

export const placeText = (
  { placeCity, placeCountryCode, placeRegion }: StoredCollectionRoute,
  { wording }: Texts
): string | undefined => {
  const country = placeCountryCode && wording.country(placeCountryCode)
  const names = [placeCity, placeRegion, country].filter((name) => name !== undefined)
  return names.length === 0 ? undefined : [...new Set(names)].join(", ")
}

export const factsOf = (
  { activity, distance, duration, elevationGain }: StoredCollectionRoute,
  texts: Texts,
  units: Units
): Readonly<Record<keyof SharedTexts["facts"], string | undefined>> => ({
  distance: distance === undefined ? undefined : distanceText(distance, texts, units),
  climb: elevationGain === undefined ? undefined : heightText(elevationGain, texts, units),
  time: duration === undefined ? undefined : durationText(duration, texts),
  activity: activity && texts.activities[activity]
})

/** A line may end with the dot, and does not begin with it. */
const NEXT = "\u00a0· "

export const summaryOf = (route: StoredCollectionRoute, texts: Texts, units: Units): string => {
  const { activity, climb, distance, time } = factsOf(route, texts, units)
  return [distance, climb && texts.shared.climbing(climb), time, activity, placeText(route, texts)]
    .filter((part) => part !== undefined).join(NEXT)
}

export type Facts = ReadonlyArray<readonly [name: string, value: string | undefined]>

export const factList = (facts: Facts): Html => {
  const shown = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [html`<div><dt>${name}</dt><dd>${value}</dd></div>`]
  )
  return shown.length === 0 ? html`` : html`<dl class="facts">${shown}</dl>`
}

export const facts = (route: StoredCollectionRoute, texts: Texts, units: Units): Html => {
  const { activity, climb, distance, time } = factsOf(route, texts, units)
  const names = texts.shared.facts
  return factList([[names.distance, distance], [names.climb, climb], [names.time, time], [names.activity, activity]])
}

/** Each tag leads to the public routes that have it. */
export const tagLinks = (tags: ReadonlyArray<string>, { pages }: Texts, root: string): Html =>
  tags.length === 0
    ? html``
    : html`<ul class="tags" aria-label="${pages.tags}">${
      tags.map((tag) => html`<li><a href="${root}?tag=${tag}">${tag}</a></li>`)
    }</ul>
`

export const formatName = (format: FileFormat): string => format === "geojson" ? "GeoJSON" : format.toUpperCase()

/** Devices take these formats. */
const FIRST_FORMATS: ReadonlyArray<FileFormat> = ["gpx", "fit"]

export const downloads = (ref: string, root: string, { pages }: Texts): Html => {
  const link = (format: FileFormat, style: string) =>
    html`<li><a class="${style}" href="${root}api/v1/routes/${ref}/${format}" download>${formatName(format)}</a></li>`
  return html`<section aria-labelledby="files"><h2 id="files">${pages.files}</h2>
<ul class="files">${FIRST_FORMATS.map((format) => link(format, "button"))}${
    FILE_FORMATS.filter((format) => !FIRST_FORMATS.includes(format)).map((format) => link(format, "button quiet"))
  }</ul></section>
`
}

export const author = ({ handle, name }: StoredCollectionRoute["user"], root: string): Html =>
  html`<a href="${root}u/${handle}">${name}</a>`

/** The profile of a picture has metres, beside which miles and feet would mislead. */
export const hasProfile = (units: Units): boolean => units === "metric"

interface Shot {
  readonly width: number
  readonly height: number
  readonly profile?: boolean
}

export const picturePath = (
  ref: string,
  format: PictureFormat,
  { height, profile, width }: Shot,
  theme: "light" | "dark" = "light"
): string => {
  const query = new URLSearchParams({ width: String(width), height: String(height) })
  if (theme === "dark") query.set("theme", theme)
  if (profile === true) query.set("profile", "true")
  return `api/v1/routes/${ref}/picture.${format}?${query.toString()}`
}

/** A phone gets a narrow picture: the texts of the wide one would be too small. */
interface Shots {
  readonly wide: Shot
  readonly narrow?: Shot
  readonly isLazy?: boolean
}

const NARROW = "(max-width: 30rem)"
const DARK = "(prefers-color-scheme: dark)"

const sized = ({ height, width }: Shot) => html`width="${width}" height="${height}"`

/** The browser chooses by colour scheme and width. */
export const picture = (ref: string, { isLazy = false, narrow, wide }: Shots, alt: string, root: string): Html => {
  const source = (shot: Shot, theme: "light" | "dark", media: string) =>
    html`<source media="${media}" srcset="${root}${picturePath(ref, "svg", shot, theme)}" ${sized(shot)}>\n`
  return html`<picture>
${narrow === undefined ? html`` : [source(narrow, "dark", `${NARROW} and ${DARK}`), source(narrow, "light", NARROW)]}${
    source(wide, "dark", DARK)
  }<img src="${root}${picturePath(ref, "svg", wide)}" ${sized(wide)} alt="${alt}"${
    isLazy ? html` loading="lazy"` : undefined
  }>
</picture>`
}

export const attribution = ({ provenance }: Pick<StoredRoute, "provenance">, { shared }: Texts): Html => {
  const text = attributionOf(provenance)
  return text === undefined
    ? html``
    : html`<p class="hint">${
      shared.followsRoads(html`<a href="https://www.openstreetmap.org/copyright">${text}</a>`)
    }</p>`
}

/** The unit is pixels. */
export const FRAME = { width: 640, height: 480 }

export const frameOf = (root: string, token: string, title: string, { height, width } = FRAME): Html =>
  html`<iframe src="${root}embed/${token}" width="${width}" height="${height}" title="${title}" loading="lazy" frameborder="0"></iframe>`

interface Preview {
  readonly title: string
  readonly description: string
  readonly url: string
  /** The picture at this address has the size of a card. */
  readonly pictured: string | undefined
  readonly hasOEmbed: boolean
  /** Pages that search engines may index have data of schema.org. */
  readonly data: Readonly<Record<string, unknown>> | undefined
}

const PREVIEW_SHOT = { ...CARD, profile: true } as const

export const previewPicture = (root: string, ref: string): string => `${root}${picturePath(ref, "png", PREVIEW_SHOT)}`

export const cardAddress = (root: string, ref: string): string => `${root}r/${ref}/card.png`

/** `<` would end the element, whatever the text around it. */
const linkedData = (data: object): Html => ({
  html: `<script type="application/ld+json">${withoutFormat(JSON.stringify(data)).replaceAll("<", "\\u003c")}</script>`
})

const property = (name: string, content: string | number) => html`<meta property="og:${name}" content="${content}">\n`

const image = (address: string, alt: string) =>
  html`${property("image", address)}${property("image:type", "image/png")}${
    property("image:width", PREVIEW_SHOT.width)
  }${property("image:height", PREVIEW_SHOT.height)}${
    property("image:alt", alt)
  }<meta name="twitter:card" content="summary_large_image">
`

const oembedAddress = (root: string, url: string) =>
  `${root}oembed?${new URLSearchParams({ format: "json", url }).toString()}`

/** Describes a page by OpenGraph (ogp.me), oEmbed discovery (oembed.com, 4) and schema.org. */
export const previewHead = (
  { name, texts }: Site,
  root: string,
  { data, description, hasOEmbed, pictured, title, url }: Preview
): Html =>
  html`<link rel="canonical" href="${url}">
<meta name="description" content="${description}">
${property("type", "website")}${property("site_name", name)}${property("title", title)}${
    property("description", description)
  }${property("url", url)}${pictured === undefined ? html`` : image(pictured, texts.shared.lineOf(title))}${
    hasOEmbed
      ? html`<link rel="alternate" type="application/json+oembed" href="${
        oembedAddress(root, url)
      }" title="${title}">\n`
      : html``
  }${data === undefined ? html`` : linkedData({ "@context": "https://schema.org", ...data })}`

/** This number fills rows of two and of three cards. */
const CARDS = 24

const LAST_PAGE = 9999

/** `?page=` counts from 1 to `LAST_PAGE`; anything else is the first page. */
export const cardPage = (query: URLSearchParams): { readonly limit: number; readonly offset: number } => {
  const page = Number(/^[1-9]\d{0,3}$/.exec(query.get("page") ?? "")?.[0] ?? 1)
  return { limit: CARDS, offset: (page - 1) * CARDS }
}

const SHOTS = { wide: { width: 360, height: 225 }, isLazy: true }

interface Listing {
  readonly root: string
  readonly texts: Texts
  readonly units: Units
}

/** An unlisted route of a collection opened by a share link gets no link: the route's token would outlive that link. */
const card = (route: StoredCollectionRoute, { root, texts, units }: Listing) =>
  route.shareToken === undefined
    ? html`<li><h2>${route.name}</h2>
<p class="hint">${summaryOf(route, texts, units)}</p></li>
`
    : html`<li>${picture(route.shareToken, SHOTS, "", root)}
<h2><a href="${root}r/${route.shareToken}">${route.name}</a></h2>
<p class="hint">${summaryOf(route, texts, units)}</p></li>
`

const pageLink = (
  page: number,
  { filters, rel, text }: { readonly filters: PageFilters; readonly rel: "next" | "prev"; readonly text: string }
) => html`<a href="?${new URLSearchParams({ ...filters, page: String(page) }).toString()}" rel="${rel}">${text}</a> `

type PageFilters = Readonly<Record<string, string>>

/** Leads to the pages around one, each with the same filters, unless there is only one. */
export const pagesAround = (
  { covered, items, total }: PageOf<unknown>,
  { filters = {}, limit, offset }: { readonly filters?: PageFilters; readonly limit: number; readonly offset: number },
  { shared }: Texts,
  [before, after]: readonly [before: string, after: string] = [shared.previousRoutes, shared.moreRoutes]
): Html => {
  const page = offset / limit + 1
  const isLast = page === LAST_PAGE || offset + (covered ?? items.length) >= total || items.length === 0
  const previous = page > 1
    ? pageLink(Math.min(page - 1, Math.ceil(total / limit)), { filters, rel: "prev", text: before })
    : html``
  const next = isLast ? html`` : pageLink(page + 1, { filters, rel: "next", text: after })
  return page === 1 && isLast
    ? html``
    : html`<nav class="pages" aria-label="${shared.pages}"><p>${previous}${next}</p></nav>`
}

export const cards = (
  routes: PageOf<StoredCollectionRoute>,
  { filters = {}, offset, ...listing }: Listing & { readonly offset: number; readonly filters?: PageFilters }
): Html =>
  routes.items.length === 0
    ? html`<p>${listing.texts.shared.noRoutes}</p>`
    : html`<ul class="cards">
${routes.items.map((route) => card(route, listing))}</ul>
${pagesAround(routes, { filters, limit: CARDS, offset }, listing.texts)}`
