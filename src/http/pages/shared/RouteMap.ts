import { Effect, Layer, Option } from "effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { attributionOf } from "../../../schema/Picture.ts"
import type { StoredRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { settings } from "../../../services/settings/Registry.ts"
import { type Asset, assetLayer, makeAsset } from "../layout/Assets.ts"

export interface RouteMap {
  readonly head: (root: string) => Html
  readonly body: (route: StoredRoute, ref: string, root: string) => Html
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

/** The style's server sends tiles, sprites and glyphs too; `blob:` is for images that MapLibre has decoded. */
const policyFor = (origin: string) => ({
  "script-src": "'self'",
  "worker-src": "'self'",
  "connect-src": `'self' ${origin}`,
  "img-src": `'self' data: blob: ${origin}`
})

const makeAssets = (origin: string): MapAssets => ({
  library: makeAsset("maplibre", "js", packaged("maplibre-gl.mjs")),
  worker: {
    ...makeAsset("maplibre-worker", "js", packaged("maplibre-gl-worker.mjs")),
    // A worker has the policy of its own response.
    headers: { "content-security-policy": `default-src 'none'; connect-src 'self' ${origin}` }
  },
  styles: makeAsset("maplibre", "css", packaged("maplibre-gl.css")),
  script: makeAsset("map", "js", readFileSync(join(import.meta.dirname, "map.js"), "utf8"))
})

const at = ({ path }: Asset, root: string) => `${root}${path.slice(1)}`

const mapOf = ({ library, script, styles, worker }: MapAssets, style: URL): RouteMap => ({
  policy: policyFor(style.origin),
  head: (root) =>
    html`<link rel="stylesheet" href="${at(styles, root)}">
<script type="module" src="${at(script, root)}"></script>`,
  // `import()` resolves from the script, which is beside the library.
  body: (route, ref, root) =>
    html`<div class="map" role="region" aria-label="Map of the route" hidden data-map-style="${style.href}" data-line="${root}api/v1/routes/${ref}" data-library="./${
      library.path.split("/").at(-1)
    }" data-worker="${at(worker, root)}" data-attribution="${attributionOf(route.provenance)}"></div>`
})

const made = Effect.map(
  settings.MAP_STYLE_URL,
  Option.map((style) => {
    const assets = makeAssets(style.origin)
    return { assets, map: mapOf(assets, style) }
  })
)

/** None without `MAP_STYLE_URL`. */
export const routeMap = Effect.map(made, Option.map(({ map }) => map))

/** MapLibre GL from its npm package, for pages with a map. */
export const mapAssetsLayer = Layer.unwrap(
  Effect.map(made, (made) =>
    Option.isNone(made)
      ? Layer.empty
      : Layer.mergeAll(
        assetLayer(made.value.assets.library),
        assetLayer(made.value.assets.worker),
        assetLayer(made.value.assets.styles),
        assetLayer(made.value.assets.script)
      ))
)
