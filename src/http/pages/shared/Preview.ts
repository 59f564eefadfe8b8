import { SERVICE_TITLE } from "../../../schema/ServiceName.ts"
import { withoutFormat } from "../../../schema/Text.ts"
import { type Html, html } from "../../../services/operations/Html.ts"
import { picturePath } from "./Pictured.ts"

export interface Preview {
  readonly title: string
  readonly description: string
  readonly url: string
  /** The ref of the route whose picture is shown. */
  readonly pictured: string | undefined
  readonly hasOEmbed: boolean
  /** schema.org, for pages that search engines may index. */
  readonly data: Readonly<Record<string, unknown>> | undefined
}

/** Most sites show this size without cropping it. */
const PREVIEW_SHOT = { width: 1200, height: 630, profile: true } as const

export const previewPicture = (root: string, ref: string): string => `${root}${picturePath(ref, "png", PREVIEW_SHOT)}`

/** `<` would end the element, whatever the text around it. */
const linkedData = (data: object): Html => ({
  html: `<script type="application/ld+json">${withoutFormat(JSON.stringify(data)).replaceAll("<", "\\u003c")}</script>`
})

const property = (name: string, content: string | number) => html`<meta property="og:${name}" content="${content}">\n`

const image = (root: string, ref: string, title: string) =>
  html`${property("image", previewPicture(root, ref))}${property("image:type", "image/png")}${
    property("image:width", PREVIEW_SHOT.width)
  }${property("image:height", PREVIEW_SHOT.height)}${
    property("image:alt", `The line of ${title}`)
  }<meta name="twitter:card" content="summary_large_image">
`

const oembedAddress = (root: string, url: string) =>
  `${root}oembed?${new URLSearchParams({ format: "json", url }).toString()}`

/** OpenGraph (ogp.me), oEmbed discovery (oembed.com, 4) and schema.org. */
export const previewHead = (
  root: string,
  { data, description, hasOEmbed, pictured, title, url }: Preview
): Html =>
  html`<link rel="canonical" href="${url}">
<meta name="description" content="${description}">
${property("type", "website")}${property("site_name", SERVICE_TITLE)}${property("title", title)}${
    property("description", description)
  }${property("url", url)}${pictured === undefined ? html`` : image(root, pictured, title)}${
    hasOEmbed
      ? html`<link rel="alternate" type="application/json+oembed" href="${
        oembedAddress(root, url)
      }" title="${title}">\n`
      : html``
  }${data === undefined ? html`` : linkedData({ "@context": "https://schema.org", ...data })}`
