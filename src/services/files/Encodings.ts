import { Effect } from "effect"
import { UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"

/** How far into a file its XML declaration is looked for. */
const DECLARATION_BYTES = 256

const DECLARED = /^<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/

const CHARSET = /;\s*charset\s*=\s*"?([\w.:-]+)"?/i

const UTF_8 = "utf-8"

/**
 * What a text of ASCII characters and nothing else begins with in UTF-16, or a byte-order mark (XML 1.0, appendix F).
 */
const utf16Of = ([first, second]: Uint8Array): string | undefined => {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le"
  return (first === 0xfe && second === 0xff) || (first === 0 && second !== 0) ? "utf-16be" : undefined
}

const isMarkedUtf8 = ([first, second, third]: Uint8Array) => first === 0xef && second === 0xbb && third === 0xbf

/**
 * The bytes decide between UTF-16 and the rest, whatever they are declared as: some writers declare another one.
 */
const encodingOf = (bytes: Uint8Array, contentType: string | undefined): string => {
  if (isMarkedUtf8(bytes)) return UTF_8
  const wide = utf16Of(bytes)
  if (wide !== undefined) return wide
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, DECLARATION_BYTES)).trimStart()
  const declared = CHARSET.exec(contentType ?? "")?.[1] ?? DECLARED.exec(start)?.[1] ?? UTF_8
  return /^utf-?16/i.test(declared) ? UTF_8 : declared
}

const decoderOf = (encoding: string) =>
  Effect.try({
    try: () => new TextDecoder(encoding, { fatal: true }),
    catch: () =>
      new UnsupportedMediaType({
        message:
          `The encoding ${encoding} is not read: send UTF-8, UTF-16, or one that browsers read, such as ISO-8859-1`
      })
  })

/**
 * The text of a file in the encoding of its byte-order mark, of the `charset` of its content type or of its XML
 * declaration, in that order (RFC 7303, 3), else in UTF-8. `UnsupportedMediaType` where the encoding is unknown.
 */
export const decodedText = Effect.fnUntraced(function*(bytes: Uint8Array, contentType: string | undefined) {
  const encoding = encodingOf(bytes, contentType)
  const decoder = yield* decoderOf(encoding)
  return yield* Effect.try({
    try: () => decoder.decode(bytes),
    catch: () => ValidationFailed.at("", `Expected valid ${decoder.encoding.toUpperCase()}`)
  })
})
