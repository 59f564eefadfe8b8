import { Effect } from "effect"
import { InvalidInput, UnknownEncoding } from "../DomainErrors.ts"

const DECLARATION_BYTES = 256

const DECLARED = /^<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/

const CHARSET = /;\s*charset\s*=\s*"?([\w.:-]+)"?/i

const UTF_8 = "utf-8"

/** By a byte-order mark, or by an ASCII character (XML 1.0, appendix F). */
const utf16Of = ([first, second]: Uint8Array): string | undefined => {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le"
  return (first === 0xfe && second === 0xff) || (first === 0 && second !== 0) ? "utf-16be" : undefined
}

const isMarkedUtf8 = ([first, second, third]: Uint8Array) => first === 0xef && second === 0xbb && third === 0xbf

/** The bytes decide on UTF-16: some writers declare another encoding. */
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
    catch: () => new UnknownEncoding({ encoding })
  })

/** By byte-order mark, `charset` or XML declaration (RFC 7303, 3), else UTF-8. `UnknownEncoding` if unknown. */
export const decodedText = Effect.fnUntraced(function*(bytes: Uint8Array, contentType: string | undefined) {
  const encoding = encodingOf(bytes, contentType)
  const decoder = yield* decoderOf(encoding)
  return yield* Effect.try({
    try: () => decoder.decode(bytes),
    catch: () => InvalidInput.at("", `Expected valid ${decoder.encoding.toUpperCase()}`)
  })
})
