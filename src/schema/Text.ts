import { Schema, SchemaTransformation } from "effect"

/** A string without U+0000 and lone surrogates, which PostgreSQL and UTF-8 cannot hold. */
export const WellFormedString = Schema.String.check(
  Schema.makeFilter((text) => text.isWellFormed() && !text.includes("\u0000"), {
    expected: "text without U+0000 and lone surrogates"
  })
)

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

/** Free text, trimmed; `min` and `max` count code points after trimming. */
export const trimmedText = (min: number, max: number) =>
  WellFormedString.annotate({ description: `${min} to ${max} characters after trimming` }).pipe(
    Schema.decodeTo(Schema.String.check(isCodePointLength(min, max)), SchemaTransformation.trim())
  )
