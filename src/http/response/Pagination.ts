import { HttpServerResponse } from "effect/http"
import { crc32 } from "node:zlib"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { ListPosition, Page, PageOf } from "../../schema/Page.ts"
import { type JsonPart, lengthOf } from "../../services/bodies/JsonText.ts"
import { HEADERS } from "../api/Headers.ts"
import type { RequestedPage } from "../request/RequestedPage.ts"

type Start = { readonly offset: number } | { readonly cursor: string }

const linkTo = (address: string, query: URLSearchParams, limit: number, start: Start, relation: string) => {
  const parameters = new URLSearchParams(query)
  parameters.delete("offset" in start ? "cursor" : "offset")
  parameters.set("limit", String(limit))
  for (const [name, value] of Object.entries(start)) parameters.set(name, String(value))
  return `<${address}?${parameters.toString()}>; rel="${relation}"`
}

/** Pages may be shorter than `limit`, so `next` begins after the last item; `prev` and `last` count in whole limits. */
const startsByOffset = ({ limit, offset }: Page, { covered, total }: PageOf<unknown>) => {
  const next = offset + (covered ?? limit)
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit
  return {
    first: { offset: 0 },
    prev: offset > 0 ? { offset: Math.min(Math.max(0, offset - limit), last) } : undefined,
    next: next > offset && next < total ? { offset: next } : undefined,
    last: { offset: last }
  }
}

/**
 * `Link` (RFC 8288) keeps other query parameters. A list that is read from its start or by a cursor goes on by cursor,
 * which neither skips nor repeats. A page by cursor has no number, so it has neither `first`, `prev` nor `last`.
 */
const pageHeaders = (url: string, page: RequestedPage, found: PageOf<unknown>): Record<string, string> => {
  const { pathname, searchParams } = new URL(url, "http://localhost")
  const byOffset = startsByOffset(page, found)
  const next = found.end && { cursor: page.cursorAfter(found.end) }
  const byCursor = page.after === undefined ? { ...byOffset, next } : { next }
  const starts: Record<string, Start | undefined> = page.isByOffset ? byOffset : byCursor
  return {
    [HEADERS.totalCount.key]: String(found.total),
    [HEADERS.link.key]: Object.entries(starts).flatMap(([relation, start]) =>
      start === undefined ? [] : [linkTo(`${page.root}${pathname}`, searchParams, page.limit, start, relation)]
    ).join(", ")
  }
}

/** A list has no version, so a checksum is its tag. */
export const checksumTag = (json: ReadonlyArray<JsonPart>, more = ""): string =>
  `W/"${lengthOf(json).toString(36)}-${json.reduce((sum: number, part) => crc32(part, sum), crc32(more)).toString(16)}"`

/** Returns the headers of a page. Its entity tag is a checksum of them and its JSON, since a list has no version. */
export const taggedHeaders = (
  url: string,
  page: RequestedPage,
  found: PageOf<unknown>,
  json: ReadonlyArray<JsonPart>
): Record<string, string> => {
  const headers = pageHeaders(url, page, found)
  return { ...headers, [HEADERS.etag.key]: checksumTag(json, JSON.stringify(headers)) }
}

export const jsonPage = <A>(
  url: string,
  page: RequestedPage,
  found: PageOf<A>,
  toJson: (item: A) => string = (item) => JSON.stringify(item)
) => {
  const json = `[${found.items.map(toJson).join(",")}]`
  return HttpServerResponse.text(json, {
    headers: taggedHeaders(url, page, found, [json]),
    contentType: MEDIA_TYPES.json
  })
}

interface Sorted<A> {
  readonly positionOf: (item: A) => ListPosition
  readonly isDescending: boolean
}

const compare = (one: ListPosition, other: ListPosition) => {
  const at = one[0] === other[0] ? 1 : 0
  return one[at] < other[at] ? -1 : Number(one[at] > other[at])
}

/** The list has a bounded length and is in memory. */
export const sliceOf = <A>(items: ReadonlyArray<A>, page: Page, { isDescending, positionOf }: Sorted<A>): PageOf<A> => {
  const { after, limit, offset } = page
  const isBehind = (position: ListPosition, start: ListPosition) =>
    (isDescending ? compare(start, position) : compare(position, start)) > 0
  const rest = after === undefined ? items : items.filter((item) => isBehind(positionOf(item), after))
  const slice = rest.slice(offset, offset + limit)
  const last = slice.at(-1)
  return {
    items: slice,
    total: items.length,
    end: last !== undefined && rest.length > offset + limit ? positionOf(last) : undefined
  }
}
