import { parsedUrl } from "../../../schema/Text.ts"
import { type Html, html } from "../../../services/operations/Html.ts"

/** A host of other characters, such as `;` or `*`, would say more in a Content-Security-Policy than its own name. */
const ORIGIN = /^https:\/\/[\w.-]+(?::\d+)?$/u

const originOf = (address: string | undefined) => {
  const origin = address === undefined ? undefined : parsedUrl(address)?.origin
  return ORIGIN.test(origin ?? "") ? origin : undefined
}

export const avatarImage = (address: string | undefined): Html =>
  originOf(address) === undefined
    ? html``
    : html`<img class="avatar" src="${address}" alt="" width="80" height="80" referrerpolicy="no-referrer">
`

export const avatarPolicy = (address: string | undefined): Readonly<Record<string, string>> => {
  const origin = originOf(address)
  return origin === undefined ? {} : { "img-src": `'self' data: ${origin}` }
}
