import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { ValidationFailed } from "../../schema/Errors.ts"
import type { UserId } from "../../schema/Ids.ts"
import { DEFAULT_LIMIT, ListPosition, type Page } from "../../schema/Page.ts"
import { signedCursors } from "../../services/operations/Keys.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"

export interface RequestedPage extends Page {
  /** The address of the service ends without a slash. */
  readonly root: string
  readonly isByOffset: boolean
  readonly cursorAfter: (position: ListPosition) => string
}

interface ListRequest {
  readonly query: { readonly cursor?: string; readonly limit?: number; readonly offset?: number }
  readonly request: HttpServerRequest.HttpServerRequest
}

/** These parameters change what a page shows, and not what its list has. */
const OF_PAGE = ["cursor", "geometry", "limit", "offset"]

const listOf = (url: string, caller: Option.Option<UserId>) => {
  const { pathname, searchParams } = new URL(url, "http://localhost")
  for (const name of OF_PAGE) searchParams.delete(name)
  searchParams.sort()
  return JSON.stringify([Option.getOrNull(caller), pathname, searchParams.toString()])
}

const foreign = () =>
  ValidationFailed.at(
    "query",
    "cursor",
    "Expected the cursor of a `next` link of this list, with the same filters and sort and for the same caller; start again without it"
  )

export const makeRequestedPage = Effect.map(
  Effect.all([signedCursors("cursors v2", ListPosition), settings.BASE_URL]),
  ([{ open, seal }, { href }]) => {
    const root = href.replace(/\/$/, "")
    return Effect.fnUntraced(function*({ query, request }: ListRequest, caller: Option.Option<UserId>) {
      const list = listOf(request.url, caller)
      const after = query.cursor === undefined ? undefined : Option.getOrUndefined(open(list, query.cursor))
      if (query.cursor !== undefined && after === undefined) return yield* foreign()
      const page: RequestedPage = {
        root,
        limit: query.limit ?? DEFAULT_LIMIT,
        offset: query.offset ?? 0,
        after,
        isByOffset: query.offset !== undefined,
        cursorAfter: (position) => seal(list, position)
      }
      return page
    })
  }
)
