import { Schema } from "effect"

const SAFE = new Set(["GET", "HEAD", "OPTIONS"])

/** Returns true if the method only reads (RFC 9110, 9.2.1). */
export const isSafe = (method: string | undefined): boolean => method !== undefined && SAFE.has(method)

/** See RFC 9110, 8.8.3. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`

export const tagsIn = (value: string): ReadonlyArray<string> => value.match(new RegExp(TAG, "g")) ?? []

const ENTITY_TAGS = new RegExp(String.raw`^(?:\*|(?:,[ \t]*)*${TAG}(?:[ \t]*,(?:[ \t]*${TAG})?)*)$`)

/** `If-Match` is `*` or a list of entity tags (RFC 9110, 13.1.1), which may have empty elements (5.6.1). */
export const EntityTags = Schema.String.check(
  Schema.makeFilter((value) => ENTITY_TAGS.test(value), {
    expected:
      "`*`, or entity tags as `ETag` has them, such as W/\"3-full-8f0b3a1c@2025-06-01T08:30:00.000Z\", with commas between them",
    toJsonSchema: () => ({ pattern: ENTITY_TAGS.source })
  })
)
