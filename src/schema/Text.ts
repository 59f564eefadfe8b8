import { type JsonSchema, Result, Schema, SchemaTransformation } from "effect"

const STORABLE = "^[^\\x00]*$"

const NOT_BLANK = "^[^\\x00]*[^\\s\\x00][^\\x00]*$"

const isWellFormed = (documented: JsonSchema.JsonSchema) =>
  Schema.makeFilter((text: string) => text.isWellFormed() && !text.includes("\u0000"), {
    expected: "text without U+0000 and lone surrogates",
    toJsonSchema: () => documented
  })

/** Clients with Node.js 20 lack `URL.parse`, which came with Node.js 22. */
export const parsedUrl = (text: string): URL | undefined => URL.canParse(text) ? new URL(text) : undefined

/** Every percent sign begins an escape, and what they escape is UTF-8. */
export const isPercentEncoded = (text: string): boolean => Result.isSuccess(Result.try(() => decodeURIComponent(text)))

/** PostgreSQL cannot store U+0000, and UTF-8 no lone surrogates. */
export const WellFormedString = Schema.String.check(isWellFormed({ pattern: STORABLE }))

/** The text is transformed before it is checked; `documented` describes what a client may send. */
export const givenText = (documented: JsonSchema.JsonSchema) => Schema.String.check(isWellFormed(documented))

const hasCodePoints = (text: string, min: number, max: number) => {
  // UTF-16 units bound the number of code points from both sides: counting is rarely needed.
  if (text.length < min || text.length > 2 * max) return false
  const length = [...text].length
  return length >= min && length <= max
}

const lengthOptions = (min: number, max: number) => ({
  expected: `${min} to ${max} characters`,
  toJsonSchema: () => ({ minLength: min, maxLength: max })
})

/** Bounds the length in code points, both ends included, so that an emoji counts once. */
export const isCodePointLength = (min: number, max: number) =>
  Schema.makeFilter((text: string) => hasCodePoints(text, min, max), lengthOptions(min, max))

/** Normalises by NFKC first, which may change the number of code points. */
export const isNormalizedLength = (min: number, max: number) =>
  Schema.makeFilter((text: string) => hasCodePoints(text.normalize("NFKC"), min, max), lengthOptions(min, max))

const changedText = (change: (text: string) => string) => {
  const changed = SchemaTransformation.transform<string, string>({ decode: change, encode: (text) => text })
  return (min: number, max: number, documented: JsonSchema.JsonSchema = {}) =>
    givenText({ minLength: min, maxLength: max, pattern: min === 0 ? STORABLE : NOT_BLANK, ...documented }).annotate({
      description: `${min} to ${max} characters after trimming`
    }).pipe(Schema.decodeTo(Schema.String.check(isCodePointLength(min, max)), changed))
}

export const trimmedText = changedText((text) => text.trim())

/** Matches joiners that no script or emoji needs: those after Latin, Greek and Cyrillic letters, digits and signs. */
const JOINERS =
  /(?<![\p{M}\p{Emoji_Modifier}\p{Extended_Pictographic}[\p{L}--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]]])[\u200C\u200D]/gv

/** Matches tags outside of flags, such as the flag of Scotland. */
const TAGS = /(?<!\u{1F3F4}[\u{E0020}-\u{E007E}]{0,6})[\u{E0020}-\u{E007F}]/gu

const OTHER_FORMAT = /[\p{Cf}--[\u{E0020}-\u{E007F}\u200C\u200D]]/gv

/** Removes invisible characters (Unicode category Cf), which reorder or hide the text around them. */
export const withoutFormat = (text: string): string =>
  text.replace(OTHER_FORMAT, "").replace(TAGS, "").replace(JOINERS, "")

export const nameText = changedText((text) => withoutFormat(text).trim())

/** Writes a name that a client chose in one line, since our own text surrounds it. */
export const inOneLine = (text: string): string => withoutFormat(text).replace(/[\p{Cc}\s]+/gu, " ").trim()

/** Returns the text as it is stored: an empty one clears its member. */
export const textOrNull = (text: string | null | undefined) => text === "" ? null : text
