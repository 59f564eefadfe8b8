import { Schema, SchemaTransformation } from "effect"
import { givenText } from "./Text.ts"

const Tag = Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,23}$/u))

/** Lower case, with runs of white space as one hyphen. */
const normaliseTag = (text: string): string => text.trim().toLowerCase().replace(/\s+/gu, "-")

const NormalisedTag = givenText({ pattern: "^[A-Za-z0-9][A-Za-z0-9 -]{0,23}$" }).annotate({
  description: "1 to 24 characters of a-z, 0-9 and \"-\" once it is in lower case, with white space as \"-\""
}).pipe(
  Schema.decodeTo(Tag, SchemaTransformation.transform({ decode: normaliseTag, encode: (tag) => tag }))
)

/** The most tags that a route has. */
export const MAX_TAGS = 10

/** The most that a client may send: some of them may be the same once they are normalised. */
const MAX_SENT_TAGS = 100

/** At most 10 tags, normalised; what is the same after that counts once and keeps its first place. */
export const Tags = Schema.Array(NormalisedTag).check(
  Schema.isMaxLength(MAX_SENT_TAGS),
  // For documents, where more is valid only with repetitions. Apart, since the scanner of bodies takes the first
  // maximum.
  Schema.makeFilter(() => true, { toJsonSchema: () => ({ allOf: [{ maxItems: MAX_TAGS }] }) })
).pipe(
  Schema.decodeTo(
    Schema.Array(Tag).check(Schema.isMaxLength(MAX_TAGS)),
    // A native Set: its hashes are seeded, those of Effect's structures are not.
    SchemaTransformation.transform({
      decode: (tags: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(tags)],
      encode: (tags) => tags
    })
  )
)
