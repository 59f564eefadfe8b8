import { Config, Effect, Result, Schema } from "effect"
import type { StoredCollection } from "../../schema/Collection.ts"
import type { ElevationProfile } from "../../schema/Elevation.ts"
import type { ServiceError } from "../../schema/Errors.ts"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { CollectionId, RouteId } from "../../schema/Ids.ts"
import type { FileFormat, GpxForm, ImportWarning } from "../../schema/Import.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { PageOf } from "../../schema/Page.ts"
import type { PrivacyZone } from "../../schema/PrivacyZone.ts"
import type { StoredCollectionRoute, StoredRoute } from "../../schema/Route.ts"
import type { ShareLink } from "../../schema/ShareLink.ts"
import type { Profile } from "../../schema/User.ts"
import { type Json, type JsonParts, piecesOf, textOf, withMembers } from "../../services/bodies/JsonText.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import { OWN_MEMBERS } from "../../services/routes/RouteRow.ts"
import type { StoredChange } from "../../services/sync/ChangedRows.ts"
import type { StoredChanges } from "../../services/sync/ChangeFeed.ts"
import { piecedResponse } from "../request/BodyPieces.ts"
import type { RequestedPage } from "../request/RequestedPage.ts"
import { encodeError } from "./ErrorResponse.ts"
import { jsonPage, taggedHeaders } from "./Pagination.ts"
import { jsonResponse, type Versioned, weakTag } from "./Versioned.ts"

export interface PageLinks {
  /** The address of the service ends with a slash. */
  readonly root: string
  /** A private route has no address, and none has one where pages are switched off. */
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
      // The id stands for a missing token: the token of a stranger's public collection would open its unlisted routes.
      collectionUrl: ({ id, shareToken = String(id), visibility }) => whenShared(visibility, `c/${shareToken}`)
    }
  }
)

const collectionJson = (collection: StoredCollection): string => JSON.stringify({ ...collection, version: undefined })

/** The tag covers the whole JSON, which also changes with the caller and with the collection's routes. */
export const collectionTag = (collection: StoredCollection): string =>
  weakTag(String(collection.version), collection.updatedAt, collectionJson(collection))

export const makeVersionedCollection = Effect.map(
  pageLinks,
  ({ collectionUrl }) => (collection: StoredCollection): Versioned => ({
    path: `/api/v1/collections/${collection.id}`,
    etag: collectionTag(collection),
    json: () => withMembers(collectionJson(collection), ["url", JSON.stringify(collectionUrl(collection))])
  })
)

export const collectionPage = (url: string, page: RequestedPage, found: PageOf<StoredCollection>) =>
  jsonPage(url, page, found, collectionJson)

const routeJson = (
  {
    cues,
    cutRevision: _notShown,
    geometry,
    polyline6,
    segments,
    version: _inTag,
    waypoints,
    ...members
  }: StoredCollectionRoute,
  url?: string
): JsonParts =>
  withMembers(
    JSON.stringify(members),
    ["waypoints", waypoints],
    ["geometry", geometry],
    ["polyline6", polyline6],
    ["segments", segments],
    ["cues", cues],
    ["url", JSON.stringify(url)]
  )

const SOME_LACK = ["cutRevision", ...OWN_MEMBERS] as const

/** These members change without a new version, or are the owner's: new cities change places, a zone what others see. */
const shownOf = (route: StoredRoute) =>
  JSON.stringify([
    route.user,
    route.favourite,
    route.placeCity,
    route.placeRegion,
    route.placeCountryCode,
    route.shareToken,
    route.allowDownload,
    ...SOME_LACK.map((member) => route[member]).filter((value) => value !== undefined),
    // Only its owner sees the times of the waypoints.
    ...(route.waypoints.includes("\"timestamp\"") ? [true] : [])
  ])

const factsOf = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))

const withoutLine = (route: StoredRoute) => ({
  ...route,
  geometry: undefined,
  polyline6: undefined,
  segments: undefined,
  cues: undefined
})

export const routeFacts = (route: StoredRoute) => factsOf(textOf(routeJson(withoutLine(route))))

export const collectionFacts = (collection: StoredCollection) => factsOf(collectionJson(collection))

export const routeTag = (route: StoredRoute, form: GeometryForm = "full"): string =>
  weakTag(`${route.version}-${form}`, route.updatedAt, shownOf(route))

export const fileTag = (route: StoredRoute, format: FileFormat, form: GpxForm): string =>
  weakTag(`${route.version}-${format === "gpx" ? `${format}-${form}` : format}`, route.updatedAt, shownOf(route))

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

const withWarnings = (json: Json, warnings: ReadonlyArray<ImportWarning>) =>
  withMembers(textOf(json), ["warnings", JSON.stringify(warnings)])

export const importedRoute = (versioned: Versioned, warnings: ReadonlyArray<ImportWarning>): Versioned => ({
  ...versioned,
  json: () => withWarnings(versioned.json(), warnings)
})

/** Other requests get a turn after so many bytes. */
const SLICE = 1024 * 1024

function* partsOf<A>(before: string, items: ReadonlyArray<A>, toJson: (item: A) => JsonParts, after: string) {
  yield `${before}[`
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ","
    yield* toJson(item)
  }
  yield `]${after}`
}

/** Encodes a JSON array between two texts in UTF-8. A long one takes several iterations of the event loop. */
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

type Made = { readonly kind: "route"; readonly id: RouteId } | {
  readonly kind: "collection"
  readonly id: CollectionId
}

export interface BatchOutcome {
  readonly status: number
  /** Later operations refer to what this one made or changed. */
  readonly made?: Made
  readonly etag?: string
  /** The result has the resource as it is now in this member. */
  readonly shown?: readonly [name: "account" | "collection" | "link" | "route" | "zones", json: Json]
}

export const done: BatchOutcome = { status: 200 }

/** Leaves the geometry out: a hundred changed routes may have more of it than a response. */
export const routeOutcome = (
  route: StoredRoute,
  status = 200,
  warnings: ReadonlyArray<ImportWarning> = []
): BatchOutcome => {
  const json = routeJson(withoutLine(route))
  const shown = warnings.length === 0 ? json : withWarnings(json, warnings)
  return { status, made: { kind: "route", id: route.id }, etag: routeTag(route), shown: ["route", shown] }
}

export const collectionOutcome = (collection: StoredCollection, status = 200): BatchOutcome => ({
  status,
  made: { kind: "collection", id: collection.id },
  etag: collectionTag(collection),
  shown: ["collection", collectionJson(collection)]
})

export const linkOutcome = (link: ShareLink, status = 200): BatchOutcome => ({
  status,
  shown: ["link", JSON.stringify(link)]
})

export const zonesOutcome = (zones: ReadonlyArray<PrivacyZone>): BatchOutcome => ({
  status: 200,
  shown: ["zones", JSON.stringify(zones)]
})

export const accountOutcome = (profile: Profile): BatchOutcome => ({
  status: 200,
  shown: ["account", JSON.stringify(profile)]
})

const succeeded = (op: string, { etag, shown, status }: BatchOutcome) =>
  textOf(withMembers(JSON.stringify({ op, status, etag }), ...(shown === undefined ? [] : [shown])))

const failed = (op: string, error: ServiceError) =>
  JSON.stringify({ op, status: error.statusCode, error: encodeError(error) })

export const batchResults = (
  operations: ReadonlyArray<{ readonly op: string }>,
  results: ReadonlyArray<Result.Result<BatchOutcome, ServiceError>>
) => {
  const texts = results.map((result, index) => {
    const op = operations[index]?.op ?? ""
    return Result.isSuccess(result) ? succeeded(op, result.success) : failed(op, result.failure)
  })
  return jsonResponse(`{"results":[${texts.join(",")}]}`)
}

const upserted = (type: "route" | "collection", { id, updatedAt, version }: {
  readonly id: number
  readonly updatedAt: string
  readonly version: number
}, etag: string) => JSON.stringify({ type, id, change: "upserted", version, etag, at: updatedAt })

/** `showsTokens` is true for a caller who may read the links of a route. */
const changeJson = (form: GeometryForm, showsTokens: boolean) => (change: StoredChange): JsonParts => {
  switch (change.type) {
    case "route": {
      const { route } = change
      return withMembers(upserted("route", route, routeTag(route, form)), ["route", routeJson(route)])
    }
    case "collection":
      return withMembers(upserted("collection", change.collection, collectionTag(change.collection)), [
        "collection",
        collectionJson(change.collection)
      ])
    case "link": {
      const { at, link, type, version } = change
      const shown = showsTokens ? link : { ...link, token: undefined }
      return [JSON.stringify({ type, id: link.id, change: "upserted", version, at, link: shown })]
    }
    case "account": {
      const { account, at, id, type, version } = change
      return [JSON.stringify({ type, id, change: "upserted", version, at, account })]
    }
    case "deleted": {
      const { deletedAt, id, of, version } = change
      return [JSON.stringify({ type: of, id, change: "deleted", version, at: deletedAt })]
    }
  }
}

export const changePage = Effect.fnUntraced(
  function*({ changes, cursor, hasMore }: StoredChanges, form: GeometryForm, showsTokens: boolean) {
    const after = `,${JSON.stringify({ cursor, hasMore }).slice(1)}`
    const pieces = yield* jsonArray(changes, changeJson(form, showsTokens), { before: "{\"changes\":", after })
    return piecedResponse(pieces, { contentType: MEDIA_TYPES.json })
  }
)
