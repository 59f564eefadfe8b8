import { encodeQR } from "qr"
import type { StoredRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import type { RouteSheet, Sample, Stop } from "../../../services/routes/RouteSheet.ts"
import type { Texts } from "../../../services/texts/Texts.ts"
import { alongText, distanceText, heightText, SYSTEMS, type Units } from "./Units.ts"

/** The plot is as wide and as high as its place on the page. */
const PLOT = { width: 1000, height: 200 }

/** A flat ride should look flat. */
const LEAST_RISE = 40

/** Each of these slopes, in percent, begins a colour in `pages.css`. */
const STEEPNESS = [0, 3, 6, 10] as const

const steepnessOf = ({ slope }: Sample): number => STEEPNESS.findLastIndex((least) => slope >= least)

const round = (value: number) => Math.round(value * 10) / 10

const plotOf = (samples: ReadonlyArray<Sample>, length: number, { pages }: Texts): Html => {
  const heights = samples.map(({ height }) => height)
  const [low, high] = [Math.min(...heights), Math.max(...heights)]
  const rise = Math.max(high - low, LEAST_RISE)
  const bottom = (low + high - rise) / 2
  const points = samples.map(({ height, metres }) =>
    `${Math.round(PLOT.width * metres / length)} ${
      Math.round(PLOT.height - (0.04 + 0.92 * (height - bottom) / rise) * PLOT.height)
    }`
  )
  const runs: Array<{ readonly steepness: number; readonly from: number; to: number }> = []
  samples.slice(0, -1).forEach((sample, index) => {
    const steepness = Math.max(0, steepnessOf(sample))
    const last = runs.at(-1)
    if (last?.steepness === steepness) last.to = index + 1
    else runs.push({ steepness, from: index, to: index + 1 })
  })
  const areas = runs.map(({ from, steepness, to }) => {
    const [left = ""] = points[from]?.split(" ") ?? []
    return html`<path class="steep-${steepness}" d="M${points.slice(from, to + 1).join("L")}V${PLOT.height}H${left}Z"/>`
  })
  return html`<svg viewBox="0 0 ${PLOT.width} ${PLOT.height}" preserveAspectRatio="none" role="img" aria-label="${pages.profile}">${areas}<path class="ridge" d="M${
    points.join("L")
  }" vector-effect="non-scaling-stroke"/></svg>`
}

const legend = ({ pages }: Texts) =>
  STEEPNESS.map((from, steepness) =>
    html`<li class="steep-${steepness}">${pages.steepness(from, STEEPNESS[steepness + 1])}</li>`
  )

/** Returns nothing for a route without elevations or length. A script shows the values at one position (`route.js`). */
export const profile = ({ samples }: RouteSheet, texts: Texts, units: Units): Html => {
  const length = samples.at(-1)?.metres ?? 0
  if (length === 0) return html``
  const heights = samples.map(({ height }) => height)
  const { long, short } = SYSTEMS[units]
  const data = JSON.stringify(samples.map(({ height, metres, slope }) => [Math.round(metres), height, round(slope)]))
  return html`<figure class="profile" data-profile="${data}" data-long="${long.metres} ${long.name}" data-short="${short.metres} ${short.name}" data-label="${texts.pages.position}">
<p class="readout" aria-hidden="true"></p>
<div class="heights" aria-hidden="true"><span>${heightText(Math.max(...heights), texts, units)}</span><span>${
    heightText(Math.min(...heights), texts, units)
  }</span></div>
<div class="plot">${plotOf(samples, length, texts)}<span class="cursor" hidden></span></div>
<div class="metres" aria-hidden="true"><span>0</span><span>${distanceText(length / 2, texts, units)}</span><span>${
    distanceText(length, texts, units)
  }</span></div>
<figcaption>${texts.pages.climbs} <ul class="legend">${legend(texts)}</ul></figcaption>
</figure>
`
}

const stopText = ({ text, turn }: Stop, { pages }: Texts) =>
  text === "" && turn !== undefined ? pages.turns[turn] : text

const stopItem = (stop: Stop, texts: Texts, units: Units) =>
  html`<li class="${stop.kind}" data-stop="${
    [Math.round(stop.metres), ...stop.coord ?? []].join(" ")
  }"><span class="at">${alongText(stop.metres, texts, units)}</span> <span class="what">${
    stopText(stop, texts)
  }</span></li>\n`

/** The page folds a longer list of stops. */
const FEW = 12

export const stops = ({ stopCount, stops }: RouteSheet, texts: Texts, units: Units): Html => {
  if (stops.length === 0) return html``
  const { pages } = texts
  const more = stopCount - stops.length
  const list = html`<ol class="stops">
${stops.map((stop) => stopItem(stop, texts, units))}</ol>
${more === 0 ? undefined : html`<p class="hint">${pages.moreStops(more)}</p>\n`}`
  const shown = stops.length <= FEW
    ? list
    : html`<details><summary>${pages.allStops(stops.length)}</summary>\n${list}</details>\n`
  return html`<section aria-labelledby="stops"><h2 id="stops">${pages.stops}</h2>\n${shown}</section>\n`
}

/** Readers need this many white modules around the code (ISO/IEC 18004). */
const QUIET_ZONE = 4

const qrCode = (text: string, { pages }: Texts): Html => {
  const rows = encodeQR(text, "raw", { ecc: "medium", border: QUIET_ZONE })
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => isDark ? [`M${x} ${y}h1v1h-1z`] : [])).join("")
  return html`<svg class="qr" viewBox="0 0 ${rows.length} ${rows.length}" role="img" aria-label="${pages.qr}"><path class="paper" d="M0 0h${rows.length}v${rows.length}H0z"/><path d="${path}"/></svg>`
}

export const share = (url: string, frame: Html, texts: Texts): Html =>
  html`<section class="share" aria-labelledby="share"><h2 id="share">${texts.pages.share}</h2>
<div><label for="link">${texts.pages.link}</label>
<input id="link" type="url" readonly value="${url}">
<p class="actions" data-copied="${texts.pages.copied}"><button type="button" class="quiet" hidden data-do="copy">${texts.pages.copy}</button><button type="button" class="quiet" hidden data-do="share">${texts.pages.shareButton}</button></p>
<p class="hint" role="status"></p>
<details><summary>${texts.pages.embed}</summary>
<label for="embed">${texts.pages.embedCode}</label>
<textarea id="embed" rows="4" readonly>${frame.html}</textarea></details></div>
${qrCode(url, texts)}
</section>
`

const PAVED = new Set(["paved_smooth", "paved", "paved_rough"])

const percentText = (share: number, { wording }: Texts) =>
  share > 0 && share < 0.005 ? "< 1 %" : `${wording.number(100 * share)} %`

/** Says how much is paved, or what the route asks of the routing engine. */
export const surfaceText = ({ routingPreferences, surfaces }: StoredRoute, texts: Texts): string | undefined => {
  const { pages } = texts
  return surfaces === undefined
    ? Object.entries(pages.askedSurfaces).find(([surface]) => surface === routingPreferences?.surfacePreference)?.[1]
    : pages.pavedShare(percentText(
      surfaces.reduce((sum, { share, surface }) => PAVED.has(surface) ? sum + share : sum, 0),
      texts
    ))
}

export const surfaceBar = ({ surfaces = [] }: StoredRoute, texts: Texts, units: Units): Html => {
  if (surfaces.length === 0) return html``
  const { pages } = texts
  const words = Object.entries(pages.surfaceWords)
  const parts = surfaces.map(({ length, share, surface }) => {
    const known = words.findIndex(([name]) => name === surface)
    const [, word = surface] = words[known] ?? []
    const color = known === -1 ? words.length - 1 : known
    return { color, share, text: `${word} ${percentText(share, texts)} (${distanceText(1000 * length, texts, units)})` }
  })
  const total = parts.reduce((sum, { share }) => sum + share, 0) || 1
  let end = 0
  const bar = parts.map(({ color, share }) => {
    const width = round(PLOT.width * share / total)
    const x = round(end)
    end += width
    return html`<rect class="surface-${color}" x="${x}" width="${width}" height="1"/>`
  })
  return html`<section class="surfaces" aria-labelledby="surfaces"><h2 id="surfaces">${pages.surfaces}</h2>
<svg viewBox="0 0 ${PLOT.width} 1" preserveAspectRatio="none" aria-hidden="true">${bar}</svg>
<ul class="legend">${parts.map(({ color, text }) => html`<li class="surface-${color}">${text}</li>`)}</ul>
<p class="hint">${pages.surfacesOfMap}</p>
</section>
`
}
