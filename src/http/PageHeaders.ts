import type { Page } from "../schema/Page.ts"

const linkTo = (path: string, query: URLSearchParams, page: Page, relation: string) => {
  const parameters = new URLSearchParams(query)
  parameters.set("limit", String(page.limit))
  parameters.set("offset", String(page.offset))
  return `<${path}?${parameters.toString()}>; rel="${relation}"`
}

/** `X-Total-Count`, and `Link` with the pages around this one (RFC 8288); the links keep the other parameters. */
export const pageHeaders = (url: string, page: Page, total: number): Record<string, string> => {
  const { limit, offset } = page
  const { pathname, searchParams } = new URL(url, "http://localhost")
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit
  const relations: ReadonlyArray<readonly [string, number, boolean]> = [
    ["first", 0, true],
    ["prev", Math.min(Math.max(0, offset - limit), last), offset > 0],
    ["next", offset + limit, offset + limit < total],
    ["last", last, true]
  ]
  return {
    "x-total-count": String(total),
    link: relations
      .filter(([, , exists]) => exists)
      .map(([relation, start]) => linkTo(pathname, searchParams, { limit, offset: start }, relation))
      .join(", ")
  }
}

/** A page of a list that is short by its rules, and so read as a whole. */
export const sliceOf = <A>(items: ReadonlyArray<A>, { limit, offset }: Page): ReadonlyArray<A> =>
  items.slice(offset, offset + limit)
