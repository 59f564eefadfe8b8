import { Effect, type Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { crc32 } from "node:zlib"
import { Conflict } from "../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { ExpectedVersion } from "../../services/routes/Routes.ts"
import { HEADERS } from "../api/Headers.ts"
import type { MatchHeader, NoneMatchHeader } from "../api/Requests.ts"

/** A resource with a version, as a response shows it. */
export interface Versioned {
  readonly path: string
  readonly etag: string
  readonly json: () => string
}

/**
 * An entity tag (RFC 9110, 8.8.3): the version, and a checksum of what a response shows. `If-None-Match` compares all of
 * it, `If-Match` the version alone. It is weak: two encodings of one state are the same to a client.
 */
export const weakTag = (version: string, shown: string): string => `W/"${version}-${crc32(shown).toString(16)}"`

const listed = (header: string) => header.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "")

/** Its opaque part, which is all that a weak comparison compares (RFC 9110, 8.8.3.2). */
const opaque = (tag: string) => tag.replace(/^W\//, "")

/** Whether a client that sends `If-None-Match` has this response already (RFC 9110, 13.1.2: compared weakly). */
const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined
  && (ifNoneMatch.trim() === "*" || listed(ifNoneMatch).some((tag) => opaque(tag) === opaque(etag)))

const OWN_TAG = /^(?:W\/)?"(\d{1,15})-/

/**
 * The versions that `If-Match` names (RFC 9110, 13.1.1), from any response that showed them; a tag of another service
 * names none. Undefined without the header and for `*`.
 */
export const expectedVersions = (
  { [HEADERS.ifMatch.key]: ifMatch }: Schema.Struct.Type<typeof MatchHeader>
): ExpectedVersion =>
  ifMatch === undefined || ifMatch.trim() === "*"
    ? undefined
    : listed(ifMatch).flatMap((tag) => OWN_TAG.exec(tag)?.[1] ?? []).map(Number)

export const jsonResponse = (body: string, options?: HttpServerResponse.Options) =>
  HttpServerResponse.text(body, { ...options, contentType: MEDIA_TYPES.json })

/** A resource with its entity tag. */
export const versionedResponse = ({ etag, json }: Versioned) =>
  jsonResponse(json(), { headers: { [HEADERS.etag.key]: etag } })

/** A resource that was just created: 201, and where it is. */
export const createdResponse = ({ etag, json, path }: Versioned) =>
  jsonResponse(json(), { status: 201, headers: { [HEADERS.location.key]: path, [HEADERS.etag.key]: etag } })

/** A resource that is read: 304 without a body for a client that has it already. */
export const readResponse = (
  resource: Versioned,
  { [HEADERS.ifNoneMatch.key]: ifNoneMatch }: Schema.Struct.Type<typeof NoneMatchHeader>
) =>
  isKnown(ifNoneMatch, resource.etag)
    ? HttpServerResponse.empty({ status: 304, headers: { [HEADERS.etag.key]: resource.etag } })
    : versionedResponse(resource)

/** An account over its quota, or a collection that is full, is a conflict too. */
const isStale = (error: unknown): error is Conflict =>
  error instanceof Conflict && error.details?.["version"] !== undefined

/** A client that changes a stale version gets the entity tag of the current one, so that it can look at it and decide. */
export const withCurrentTag = <A, E, R, E2, R2>(
  change: Effect.Effect<A, E | Conflict, R>,
  current: Effect.Effect<Versioned, E2, R2>
) =>
  Effect.catchIf(
    change,
    isStale,
    ({ message }) => Effect.flatMap(current, ({ etag }) => Effect.fail(new Conflict({ message, details: { etag } })))
  )
