import { Array as Arr, Schema, SchemaTransformation } from "effect"
import { WellFormedString } from "./Text.ts"

const Tag = Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,23}$/))

/** Lower case, with runs of white space as one hyphen. */
const normaliseTag = (text: string): string => text.trim().toLowerCase().replace(/\s+/gu, "-")

const NormalisedTag = WellFormedString.pipe(
  Schema.decodeTo(Tag, SchemaTransformation.transform({ decode: normaliseTag, encode: (tag) => tag }))
)

/** At most 10 tags, normalised; what is the same after that counts once and keeps its first place. */
export const Tags = Schema.Array(NormalisedTag).pipe(
  Schema.decodeTo(
    Schema.Array(Tag).check(Schema.isMaxLength(10)),
    SchemaTransformation.transform({ decode: Arr.dedupe, encode: (tags) => tags })
  )
)
