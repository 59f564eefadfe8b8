import { Effect, Layer, Option } from "effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { attributionOf } from "../../../schema/Picture.ts"
import type { StoredRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { mapStyleUrl } from "../../../services/operations/SettingsRegistry.ts"
import { CurrentMapStyle, type MapStyle } from "../../../services/pictures/MapStyle.ts"
import type { RouteSheet } from "../../../services/routes/RouteSheet.ts"
import type { Site } from "../../../services/texts/Site.ts"
import { type Asset, assetLayer, makeAsset } from "../layout/Assets.ts"

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

interface MapAssets {
  readonly library: Asset
  readonly worker: Asset
  readonly styles: Asset
  readonly script: Asset
}

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

const makeAssets = (): MapAssets => ({
  library: makeAsset("maplibre", "js", packaged("maplibre-gl.mjs")),
  worker: makeAsset("maplibre-worker", "js", packaged("maplibre-gl-worker.mjs")),
  styles: makeAsset("maplibre", "css", packaged("maplibre-gl.css").replaceAll(ABSENT, "")),
  script: makeAsset("map", "js", readFileSync(join(import.meta.dirname, "map.js"), "utf8"))
})

const at = ({ path }: Asset, root: string) => `${root}${path.slice(1)}`

const mapOf = ({ library, script, styles, worker }: MapAssets, style: MapStyle): RouteMap => ({
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

const made = Effect.gen(function*() {
  if (Option.isNone(yield* mapStyleUrl)) return Option.none()
  const assets = makeAssets()
  const style = yield* CurrentMapStyle
  return Option.some({ assets, style, map: Effect.map(style, Option.map((style) => mapOf(assets, style))) })
})

export const routeMap = Effect.map(
  made,
  Option.match({ onNone: () => Effect.succeedNone, onSome: ({ map }) => map })
)

export const mapAssetsLayer = Layer.unwrap(Effect.map(
  made,
  Option.match({
    onNone: () => Layer.empty,
    onSome: ({ assets: { library, script, styles, worker }, style }) =>
      Layer.mergeAll(
        assetLayer(library),
        assetLayer(worker, Effect.map(style, workerHeaders)),
        assetLayer(styles),
        assetLayer(script)
      )
  })
))
