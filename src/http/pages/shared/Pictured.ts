import { attributionOf, type PictureFormat } from "../../../schema/Picture.ts"
import type { StoredRoute } from "../../../schema/Route.ts"
import { type Html, html } from "../../../services/operations/Html.ts"

export interface Shot {
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

export const attribution = ({ provenance }: Pick<StoredRoute, "provenance">): Html => {
  const text = attributionOf(provenance)
  return text === undefined
    ? html``
    : html`<p class="hint">Follows road data <a href="https://www.openstreetmap.org/copyright">${text}</a>.</p>`
}
