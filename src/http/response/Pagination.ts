import type { Page, PageOf } from "../../schema/Page.ts"
import { HEADERS } from "../api/Headers.ts"

const linkTo = (path: string, query: URLSearchParams, page: Page, relation: string) => {
  const parameters = new URLSearchParams(query)
  parameters.set("limit", String(page.limit))
  parameters.set("offset", String(page.offset))
  return `<${path}?${parameters.toString()}>; rel="${relation}"`
}

/**
 * `Link` (RFC 8288) keeps other query parameters. Pages may be shorter than `limit`, so `next` begins after the last
 * item; `prev` and `last` count in whole limits.
 */
export const pageHeaders = (
  url: string,
  page: Page,
  { covered, total }: PageOf<unknown>
): Record<string, string> => {
  const { limit, offset } = page
  const { pathname, searchParams } = new URL(url, "http://localhost")
  const next = offset + (covered ?? limit)
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit
  const relations: ReadonlyArray<readonly [string, number, boolean]> = [
    ["first", 0, true],
    ["prev", Math.min(Math.max(0, offset - limit), last), offset > 0],
    ["next", next, next > offset && next < total],
    ["last", last, true]
  ]
  return {
    [HEADERS.totalCount.key]: String(total),
    [HEADERS.link.key]: relations
      .filter(([, , exists]) => exists)
      .map(([relation, start]) => linkTo(pathname, searchParams, { limit, offset: start }, relation))
      .join(", ")
  }
}

/** For lists of bounded length. */
export const sliceOf = <A>(items: ReadonlyArray<A>, { limit, offset }: Page): PageOf<A> => ({
  items: items.slice(offset, offset + limit),
  total: items.length
})
