import { type JsonSchema, Schema, SchemaTransformation } from "effect"

/** For documents: no U+0000. JSON in UTF-8 has no lone surrogates but as escapes. */
const STORABLE = "^[^\\x00]*$"

/** The same with a character that trimming leaves. */
const NOT_BLANK = "^[^\\x00]*[^\\s\\x00][^\\x00]*$"

const isWellFormed = (documented: JsonSchema.JsonSchema) =>
  Schema.makeFilter((text: string) => text.isWellFormed() && !text.includes("\u0000"), {
    expected: "text without U+0000 and lone surrogates",
    toJsonSchema: () => documented
  })

/** A string without U+0000 and lone surrogates, which PostgreSQL and UTF-8 cannot hold. */
export const WellFormedString = Schema.String.check(isWellFormed({ pattern: STORABLE }))

/** The same that is made something of before it is checked: documents say what it must be for that. */
export const givenText = (documented: JsonSchema.JsonSchema) => Schema.String.check(isWellFormed(documented))

const hasCodePoints = (text: string, min: number, max: number) => {
  // UTF-16 units bound code points from both sides; only the band between is worth counting.
  if (text.length < min || text.length > 2 * max) return false
  const length = [...text].length
  return length >= min && length <= max
}

const lengthOptions = (min: number, max: number) => ({
  expected: `${min} to ${max} characters`,
  toJsonSchema: () => ({ minLength: min, maxLength: max })
})

/** Length in code points, so that an emoji counts once. `min` and `max` are inclusive. */
export const isCodePointLength = (min: number, max: number) =>
  Schema.makeFilter((text: string) => hasCodePoints(text, min, max), lengthOptions(min, max))

/** The same after NFKC, where several code points may become one, and one several. */
export const isNormalizedLength = (min: number, max: number) =>
  Schema.makeFilter((text: string) => hasCodePoints(text.normalize("NFKC"), min, max), lengthOptions(min, max))

/** Free text, trimmed; `min` and `max` count code points after trimming. `documented` is what else a text must be. */
export const trimmedText = (min: number, max: number, documented: JsonSchema.JsonSchema = {}) =>
  givenText({ minLength: min, maxLength: max, pattern: min === 0 ? STORABLE : NOT_BLANK, ...documented }).annotate({
    description: `${min} to ${max} characters after trimming`
  }).pipe(
    Schema.decodeTo(Schema.String.check(isCodePointLength(min, max)), SchemaTransformation.trim())
  )
