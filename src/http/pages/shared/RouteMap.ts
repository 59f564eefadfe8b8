import { Effect, Layer, Option } from "effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { attributionOf } from "../../../schema/Picture.ts"
import type { StoredRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { mapStyleUrl } from "../../../services/operations/SettingsRegistry.ts"
import { CurrentMapStyle, type MapStyle } from "../../../services/pictures/MapStyle.ts"
import type { RouteSheet } from "../../../services/routes/RouteSheet.ts"
import type { Site } from "../../../services/texts/Site.ts"
import { type Asset, assetLayer, makeAsset, readAsset } from "../layout/Assets.ts"

interface MappedRoute {
  readonly route: StoredRoute
  readonly sheet: RouteSheet
  readonly root: string
  readonly site: Site
}

export interface RouteMap {
  readonly head: (root: string) => Html
  readonly body: (shown: MappedRoute) => Html
  readonly policy: Readonly<Record<string, string>>
}

const packaged = (file: string) =>
  readFileSync(createRequire(import.meta.url).resolve(`maplibre-gl/dist/${file}`), "utf8")

/** `blob:` is for images that MapLibre has decoded. */
const policyOf = ({ origins }: MapStyle) => ({
  "worker-src": "'self'",
  "connect-src": `'self' ${origins.join(" ")}`,
  "img-src": `'self' data: blob: ${origins.join(" ")}`
})

/** A worker has the policy of its own response. */
const workerHeaders = Option.match<Readonly<Record<string, string>>, MapStyle>({
  onNone: () => ({}),
  onSome: (style) => ({
    "content-security-policy": `default-src 'none'; connect-src ${policyOf(style)["connect-src"]}`
  })
})

/** The rules of controls that the map does not have are three quarters of the style sheet. */
const ABSENT = /[^{}]*maplibregl-(?:ctrl-(?:geolocate|globe|logo|terrain)|user-location)[^{}]*\{[^{}]*\}/g

const makeAssets = () => ({
  library: makeAsset("maplibre", "js", packaged("maplibre-gl.mjs")),
  worker: makeAsset("maplibre-worker", "js", packaged("maplibre-gl-worker.mjs")),
  styles: makeAsset("maplibre", "css", packaged("maplibre-gl.css").replaceAll(ABSENT, "")),
  script: readAsset(import.meta.dirname, "map", "js")
})

const at = ({ path }: Asset, root: string) => `${root}${path.slice(1)}`

const mapOf = ({ library, script, styles, worker }: ReturnType<typeof makeAssets>, style: MapStyle): RouteMap => ({
  policy: policyOf(style),
  head: (root) => html`<script type="module" src="${at(script, root)}"></script>`,
  // `import()` resolves from the script, which is beside the library.
  body: ({ root, route, sheet, site: { texts: { pages } } }) =>
    html`<div class="map" role="region" aria-label="${pages.map}" hidden data-map-style="${style.url.href}" data-line="${sheet.polyline5}" data-steps="${sheet.steps}" data-library="./${
      library.path.split("/").at(-1)
    }" data-worker="${at(worker, root)}" data-styles="${at(styles, root)}" data-controls="${
      JSON.stringify(pages.mapControls)
    }" data-attribution="${attributionOf(route.provenance)}"></div>\n`
})

/** Pages need these with a style only, which may become known later. */
const mapAssets = Effect.map(mapStyleUrl, Option.map(makeAssets))

export const routeMap = Effect.gen(function*() {
  const assets = yield* mapAssets
  return Effect.map(yield* CurrentMapStyle, (style) => Option.zipWith(assets, style, mapOf))
})

export const mapAssetsLayer = Layer.unwrap(Effect.gen(function*() {
  const assets = yield* mapAssets
  if (Option.isNone(assets)) return Layer.empty
  const { library, script, styles, worker } = assets.value
  return Layer.mergeAll(
    assetLayer(library),
    assetLayer(worker, Effect.map(yield* CurrentMapStyle, workerHeaders)),
    assetLayer(styles),
    assetLayer(script)
  )
}))
