import { crc32 } from "node:zlib"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Place.ts"
import type { UserSummary } from "../../schema/User.ts"
import type { ExpectedVersion } from "../../services/routes/Routes.ts"

interface Versioned extends Place {
  readonly version: number
  readonly user: UserSummary
  /** Its owner's mark, which others do not see. */
  readonly favourite: boolean
}

/**
 * The entity tag of a response (RFC 9110, 8.8.3): the version, the form of the line, and a checksum of what changes
 * without an edit: the owner's name, and the place, which is derived again when the cities change. `If-None-Match`
 * compares all of it, `If-Match` the version alone. It is weak: two encodings of one state are the same to a client.
 */
export const etagOf = (
  { favourite, placeCity, placeCountryCode, placeRegion, user, version }: Versioned,
  form: GeometryForm
): string => {
  const shown = JSON.stringify([user, favourite, placeCity, placeRegion, placeCountryCode])
  return `W/"${version}-${form}-${crc32(shown).toString(16)}"`
}

const listed = (header: string) => header.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "")

/** Its opaque part, which is all that a weak comparison compares (RFC 9110, 8.8.3.2). */
const opaque = (tag: string) => tag.replace(/^W\//, "")

/** Whether a client that sends `If-None-Match` has this response already (RFC 9110, 13.1.2: compared weakly). */
export const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined
  && (ifNoneMatch.trim() === "*" || listed(ifNoneMatch).some((tag) => opaque(tag) === opaque(etag)))

const OURS = /^(?:W\/)?"(\d{1,15})-/

/**
 * The versions that `If-Match` names (RFC 9110, 13.1.1), from any answer that showed them; a tag that is none of ours
 * names none. Undefined without the header and for `*`.
 */
export const expectedVersions = (ifMatch: string | undefined): ExpectedVersion =>
  ifMatch === undefined || ifMatch.trim() === "*"
    ? undefined
    : listed(ifMatch).flatMap((tag) => OURS.exec(tag)?.[1] ?? []).map(Number)
