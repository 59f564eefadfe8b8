import { Effect } from "effect"
import type { ElevationProfile } from "../../schema/Elevation.ts"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { FileFormat, ImportWarning } from "../../schema/Import.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { PageOf } from "../../schema/Page.ts"
import type { StoredCollectionRoute, StoredRoute } from "../../schema/Route.ts"
import { type JsonParts, piecesOf, textOf, withMembers } from "../../services/bodies/JsonText.ts"
import { piecedResponse } from "../request/BodyPieces.ts"
import type { RequestedPage } from "../request/RequestedPage.ts"
import { pageLinks } from "./PageLinks.ts"
import { taggedHeaders } from "./Pagination.ts"
import { type Versioned, weakTag } from "./Versioned.ts"

export const routeJson = (
  { cues, cutRevision: _notShown, geometry, polyline6, version: _inTag, waypoints, ...members }: StoredCollectionRoute,
  url?: string
): JsonParts =>
  withMembers(
    JSON.stringify(members),
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

/** Of a file of a route. */
export const fileTag = (route: StoredRoute, format: FileFormat): string =>
  weakTag(`${route.version}-${format}`, shownOf(route))

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

/** Other requests have a turn after so many bytes. */
const SLICE = 1024 * 1024

function* partsOf<A>(before: string, items: ReadonlyArray<A>, toJson: (item: A) => JsonParts, after: string) {
  yield `${before}[`
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ","
    yield* toJson(item)
  }
  yield `]${after}`
}

/** A JSON array in UTF-8 between two texts, encoded in several iterations of the event loop where it is long. */
export const jsonArray = Effect.fnUntraced(function*<A>(
  items: ReadonlyArray<A>,
  toJson: (item: A) => JsonParts,
  { after = "", before = "" } = {}
) {
  const pieces: Array<Uint8Array> = []
  let length = 0
  for (const piece of piecesOf(partsOf(before, items, toJson, after))) {
    pieces.push(piece)
    length += piece.length
    if (length < SLICE) continue
    yield* Effect.yieldNow
    length = 0
  }
  return pieces
})

export const routePage = Effect.fnUntraced(
  function*(url: string, page: RequestedPage, found: PageOf<StoredCollectionRoute>) {
    const json = yield* jsonArray(found.items, (route) => routeJson(route))
    return piecedResponse(json, { headers: taggedHeaders(url, page, found, json), contentType: MEDIA_TYPES.json })
  }
)
