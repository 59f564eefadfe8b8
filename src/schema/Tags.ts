import { Schema, SchemaTransformation } from "effect"
import { givenText } from "./Text.ts"

const MAX_TAG = 24

export const TAG_RULE = `1 to ${MAX_TAG} characters of a-z, 0-9 and "-"`

const Tag = Schema.String.check(Schema.isPattern(new RegExp(`^[a-z0-9][a-z0-9-]{0,${MAX_TAG - 1}}$`, "u")))

const normaliseTag = (text: string): string => text.trim().toLowerCase().replace(/\s+/gu, "-")

const NormalisedTag = givenText({ pattern: `^[A-Za-z0-9][A-Za-z0-9 -]{0,${MAX_TAG - 1}}$` }).annotate({
  description: `${TAG_RULE} once it is in lower case, with white space as "-"`
}).pipe(
  Schema.decodeTo(Tag, SchemaTransformation.transform({ decode: normaliseTag, encode: (tag) => tag }))
)

export const MAX_TAGS = 10

export const MAX_SENT_TAGS = 100

export const TAGS = "The owner's words for it"

/** Normalised, without repetitions, in the order of their first occurrence. */
export const Tags = Schema.Array(NormalisedTag).check(
  Schema.isMaxLength(MAX_SENT_TAGS),
  // Only for the API document. Separate, because the scanner of bodies uses the first maximum.
  Schema.makeFilter(() => true, { toJsonSchema: () => ({ allOf: [{ maxItems: MAX_TAGS }] }) })
).annotate({ description: TAGS }).pipe(
  Schema.decodeTo(
    Schema.Array(Tag).check(Schema.isMaxLength(MAX_TAGS)),
    // A native Set: its hashes are seeded, those of Effect's structures are not.
    SchemaTransformation.transform({
      decode: (tags: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(tags)],
      encode: (tags) => tags
    })
  )
)

export const TagFilter = Schema.Array(NormalisedTag).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_TAGS))
  .annotate({
    description: "A tag that the route has; of several all"
  })
