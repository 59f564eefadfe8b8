import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ElevationProfile } from "../../schema/Elevation.ts"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { ImportWarning } from "../../schema/Import.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { PageOf } from "../../schema/Page.ts"
import type { StoredCollectionRoute, StoredRoute } from "../../schema/Route.ts"
import { encoded, type JsonParts, textOf, withMembers } from "../../services/json/JsonText.ts"
import type { RequestedPage } from "../request/RequestedPage.ts"
import { pageLinks } from "./PageLinks.ts"
import { pageHeaders } from "./Pagination.ts"
import { type Versioned, weakTag } from "./Versioned.ts"

export const routeJson = (
  { cues, geometry, polyline6, waypoints, ...members }: StoredCollectionRoute,
  url?: string
): JsonParts =>
  withMembers(
    JSON.stringify({ ...members, version: undefined, cutRevision: undefined }),
    ["waypoints", waypoints],
    ["geometry", geometry],
    ["polyline6", polyline6],
    ["cues", cues],
    ["url", JSON.stringify(url)]
  )

/** What changes without a new version; a new list of cities changes places, and zones what others see. */
const shownOf = (
  { allowDownload, cutRevision, favourite, placeCity, placeCountryCode, placeRegion, shareToken, user }: StoredRoute
) =>
  JSON.stringify([
    user,
    favourite,
    placeCity,
    placeRegion,
    placeCountryCode,
    shareToken,
    allowDownload,
    ...(cutRevision === undefined ? [] : [cutRevision])
  ])

export const routeTag = (route: StoredRoute, form: GeometryForm = "full"): string =>
  weakTag(`${route.version}-${form}`, shownOf(route))

export const makeVersionedRoute = Effect.map(
  pageLinks,
  ({ routeUrl }) => (route: StoredRoute, form?: GeometryForm): Versioned => ({
    path: `/api/v1/routes/${route.id}`,
    etag: routeTag(route, form),
    json: () => routeJson(route, routeUrl(route))
  })
)

export type VersionedRoute = Effect.Success<typeof makeVersionedRoute>

export const versionedProfile = (route: StoredRoute, profile: ElevationProfile, samples: number): Versioned => ({
  path: `/api/v1/routes/${route.id}/profile`,
  etag: routeTag(route).replace(/"$/, `-${samples}"`),
  json: () => [JSON.stringify(profile)]
})

export const importedRoute = (versioned: Versioned, warnings: ReadonlyArray<ImportWarning>): Versioned => ({
  ...versioned,
  json: () => withMembers(textOf(versioned.json()), ["warnings", JSON.stringify(warnings)])
})

/** Encoding 16 MiB at once would block other requests for more than 50 ms. */
const PART_LENGTH = 1024 * 1024

function* partsOf<A>(items: ReadonlyArray<A>, toJson: (item: A) => JsonParts): Generator<JsonParts> {
  let parts = ["["]
  let length = 0
  for (const [index, item] of items.entries()) {
    if (index > 0) parts.push(",")
    for (const part of toJson(item)) {
      parts.push(part)
      length += part.length
    }
    if (length < PART_LENGTH) continue
    yield parts
    parts = []
    length = 0
  }
  parts.push("]")
  yield parts
}

/** A JSON array in UTF-8, in parts. */
export const jsonArray = Effect.fnUntraced(function*<A>(items: ReadonlyArray<A>, toJson: (item: A) => JsonParts) {
  const parts: Array<Uint8Array> = []
  for (const part of partsOf(items, toJson)) {
    if (parts.length > 0) yield* Effect.yieldNow
    parts.push(encoded(part))
  }
  return parts
})

export const routePage = Effect.fnUntraced(
  function*(url: string, page: RequestedPage, found: PageOf<StoredCollectionRoute>) {
    return HttpServerResponse.uint8Array(Buffer.concat(yield* jsonArray(found.items, (route) => routeJson(route))), {
      headers: pageHeaders(url, page, found),
      contentType: MEDIA_TYPES.json
    })
  }
)
