import { Effect, Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { crc32 } from "node:zlib"
import { GeometryForm } from "../../schema/Geometry.ts"
import { tagsIn } from "../../schema/Http.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { Visibility } from "../../schema/Resource.ts"
import {
  encoded,
  type Json,
  type JsonParts,
  lengthOf,
  partsOf,
  piecesOf,
  textOf
} from "../../services/bodies/JsonText.ts"
import { StaleVersion } from "../../services/DomainErrors.ts"
import type { ExpectedVersion } from "../../services/routes/Routes.ts"
import { SESSION_COOKIE } from "../api/Access.ts"
import { HEADERS } from "../api/Headers.ts"
import type { MatchHeader, NoneMatchHeader } from "../api/Requests.ts"
import { piecedResponse } from "../request/BodyPieces.ts"
import { changeResponse } from "../request/ResponseChange.ts"
import { type Current, staleConflict } from "./PublicErrors.ts"

export interface Versioned {
  readonly path: string
  readonly etag: string
  readonly json: () => JsonParts
}

/** The tag is weak, since one state has several encodings (RFC 9110, 8.8.3). `If-Match` compares version and instant. */
export const weakTag = (version: string, updatedAt: string, shown: string): string =>
  `W/"${version}-${crc32(shown).toString(16)}@${updatedAt}"`

const listed = (header: string) => header.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "")

/** A weak comparison ignores `W/` (RFC 9110, 8.8.3.2). */
const opaque = (tag: string) => tag.replace(/^W\//, "")

/** The header matches by `*` or by any one of its tags (RFC 9110, 13.1.2). */
export const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined
  && (ifNoneMatch.trim() === "*" || listed(ifNoneMatch).some((tag) => opaque(tag) === opaque(etag)))

/** Caches revalidate each time, so that a route that is no longer shared is absent at once. */
export const STORABLE = { [HEADERS.cacheControl.key]: "no-cache" }

/** The response to a credential, even to a refused one, is for one client and often sets a cookie. */
export const storableFor = (
  { cookies, headers }: HttpServerRequest.HttpServerRequest,
  visibility: Visibility
): Readonly<Record<string, string>> =>
  visibility !== "private" && headers["authorization"] === undefined && cookies[SESSION_COOKIE] === undefined
    ? STORABLE
    : {}

/** Keeps what is not public out of search engines, also files and pictures, which have no `<meta>`. */
export const robotsFor = (visibility: Visibility): Readonly<Record<string, string>> =>
  visibility === "public" ? {} : { [HEADERS.robots.key]: "noindex" }

/** Tags of earlier versions of the service have no instant, and some proxies add `-gzip` to a tag. */
const OWN_TAG = /^(?:W\/)?"(\d{1,15})-[^@"]*(?:@([^"]{24}))?/

/** Ignores foreign tags (RFC 9110, 13.1.1). */
export const expectedVersions = (
  { [HEADERS.ifMatch.key]: ifMatch }: Schema.Struct.Type<typeof MatchHeader>
): ExpectedVersion =>
  ifMatch === undefined || ifMatch.trim() === "*"
    ? undefined
    : tagsIn(ifMatch).flatMap((tag) => {
      const [own, version, updatedAt] = OWN_TAG.exec(tag) ?? []
      return own === undefined ? [] : { version: Number(version), updatedAt }
    })

/** The tag of a route tells in which form it was read: a client may send the line back in that form. */
export const readForm = ({ [HEADERS.ifMatch.key]: ifMatch }: Schema.Struct.Type<typeof MatchHeader>): GeometryForm =>
  GeometryForm.literals.find((form) => ifMatch?.includes(`-${form}-`)) ?? "full"

/** A shorter text, which is written together with its headers, costs less than its bytes. */
const LONG = 16 * 1024

/** Copying a line of so many bytes costs more than a piece of its own. */
const PIECED = 64 * 1024

/** A long text is encoded at once, and not measured twice before. */
export const jsonResponse = (json: Json, options?: HttpServerResponse.Options) => {
  const typed = { ...options, contentType: MEDIA_TYPES.json }
  const length = lengthOf(json)
  if (length > PIECED) return piecedResponse([...piecesOf(partsOf(json))], typed)
  return length > LONG
    ? HttpServerResponse.uint8Array(encoded(json), typed)
    : HttpServerResponse.text(textOf(json), typed)
}

export const versionedResponse = ({ etag, json }: Versioned) =>
  jsonResponse(json(), { headers: { [HEADERS.etag.key]: etag } })

/** Makes `Location` (RFC 9110, 10.2.2) of a path below the prefix of the API. */
export const locatedAt = (path: string) => ({ [HEADERS.location.key]: `/api/v1${path}` })

export const withLocation = <A, E, R>(made: Effect.Effect<A, E, R>, pathOf: (made: A) => string) =>
  Effect.tap(
    made,
    (value) => changeResponse((response) => HttpServerResponse.setHeaders(response, locatedAt(pathOf(value))))
  )

export const createdResponse = ({ etag, json, path }: Versioned) =>
  jsonResponse(json(), { status: 201, headers: { [HEADERS.location.key]: path, [HEADERS.etag.key]: etag } })

export const notModified = (etag: string) =>
  HttpServerResponse.empty({ status: 304, headers: { [HEADERS.etag.key]: etag } })

export const readResponse = (
  resource: Versioned,
  { [HEADERS.ifNoneMatch.key]: ifNoneMatch }: Schema.Struct.Type<typeof NoneMatchHeader>
) => isKnown(ifNoneMatch, resource.etag) ? notModified(resource.etag) : versionedResponse(resource)

const isStale = Schema.is(StaleVersion)

export const withCurrentTag = <A, E, R, E2, R2>(
  change: Effect.Effect<A, E | StaleVersion, R>,
  current: Effect.Effect<Current, E2, R2>
) =>
  Effect.catchIf(
    change,
    isStale,
    (stale) => Effect.flatMap(current, (now) => Effect.fail(staleConflict(stale, now)))
  )
