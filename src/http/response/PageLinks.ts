import { Config } from "effect"
import type { StoredCollection } from "../../schema/Collection.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { settings } from "../../services/settings/Registry.ts"

export interface PageLinks {
  /** The address of the service, with a slash at its end. */
  readonly root: string
  /** Undefined for a private route, and where pages are switched off. */
  readonly routeUrl: (route: Pick<StoredRoute, "shareToken" | "visibility">) => string | undefined
  readonly collectionUrl: (
    collection: Pick<StoredCollection, "id" | "shareToken" | "visibility">
  ) => string | undefined
}

export const pageLinks: Config.Config<PageLinks> = Config.map(
  Config.all({ baseUrl: settings.BASE_URL, pagesEnabled: settings.PAGES_ENABLED }),
  ({ baseUrl, pagesEnabled }) => {
    const root = baseUrl.href.endsWith("/") ? baseUrl.href : `${baseUrl.href}/`
    const whenShared = (visibility: StoredRoute["visibility"], path: string) =>
      pagesEnabled && visibility !== "private" ? `${root}${path}` : undefined
    return {
      root,
      routeUrl: ({ shareToken, visibility }) => whenShared(visibility, `r/${shareToken}`),
      // By id where the token is missing: that of another user's public collection would open its unlisted routes.
      collectionUrl: ({ id, shareToken = String(id), visibility }) => whenShared(visibility, `c/${shareToken}`)
    }
  }
)
