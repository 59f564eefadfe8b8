import { Channel, Effect } from "effect"
import { Xml } from "effect/encoding"
import { isUtf8 } from "node:buffer"
import { StringDecoder } from "node:string_decoder"
import { InvalidInput } from "../DomainErrors.ts"
import { PIECE_LENGTH } from "./FileValues.ts"
import { malformed, MAX_MESSAGE, OWN_URI, type PointReader, XmlTree } from "./XmlTree.ts"

const MAX_TAG = 65_536

const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27
const GREATER_THAN = 0x3e

const OTHERS = [["<!--", "-->"], ["<![CDATA[", "]]>"], ["<?", "?>"]] as const

/** The pieces can be read more than once. No piece ends within a character. */
export type TextPieces = Iterable<string>

export const UTF_8 = "utf-8"

const BYTE_ORDER_MARK = "\uFEFF"

/** The pieces of other encodings, and of a `TextDecoder`, take twice the memory, and longer to parse. */
function* piecesOfUtf8(bytes: Uint8Array): Generator<string> {
  const decoder = new StringDecoder(UTF_8)
  for (let start = 0; start < bytes.length; start += PIECE_LENGTH) {
    const piece = decoder.write(bytes.subarray(start, start + PIECE_LENGTH))
    yield start === 0 && piece.startsWith(BYTE_ORDER_MARK) ? piece.slice(BYTE_ORDER_MARK.length) : piece
  }
}

function* piecesIn(bytes: Uint8Array, encoding: string): Generator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  for (let start = 0; start < bytes.length; start += PIECE_LENGTH) {
    yield decoder.decode(bytes.subarray(start, start + PIECE_LENGTH), { stream: true })
  }
  yield decoder.decode()
}

/** Decodes piece by piece, so that a long file is never one string. Throws for bytes that are not of the encoding. */
export const piecesOfBytes = (bytes: Uint8Array, encoding: string): TextPieces => {
  if (encoding === UTF_8) {
    if (!isUtf8(bytes)) throw new TypeError("The bytes are no UTF-8")
    return { [Symbol.iterator]: () => piecesOfUtf8(bytes) }
  }
  for (const _ of piecesIn(bytes, encoding));
  return { [Symbol.iterator]: () => piecesIn(bytes, encoding) }
}

/** Returns the index of the end within the longest tag, -1 without one. */
const endOfTag = (text: string, start: number): number => {
  const limit = Math.min(text.length, start + MAX_TAG)
  let quote = 0
  for (let index = start; index < limit; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) quote = 0
    else if (quote === 0 && code === GREATER_THAN) return index
    else if (quote === 0 && (code === DOUBLE_QUOTE || code === SINGLE_QUOTE)) quote = code
  }
  return -1
}

const LONG_TAG = malformed(`a tag has more than ${MAX_TAG} characters`)

/** A parser reads a tag as a whole: 800,000 attributes take a second and 100 MiB before they can be counted. */
class TagCheck {
  /** The rest is markup whose kind or end is in a later piece. */
  #rest = ""
  /** The text ends the comment, section or instruction that goes on. */
  #closing: string | undefined

  isExceededBy(piece: string): boolean {
    const text = this.#rest + piece
    this.#rest = ""
    for (let at = 0;;) {
      if (this.#closing !== undefined) {
        const end = text.indexOf(this.#closing, at)
        if (end === -1) return this.#keep(text.slice(Math.max(at, text.length - this.#closing.length + 1)))
        at = end + this.#closing.length
        this.#closing = undefined
      }
      const start = text.indexOf("<", at)
      if (start === -1) return false
      const other = OTHERS.find(([opening]) => text.startsWith(opening, start))
      if (other !== undefined) {
        this.#closing = other[1]
        at = start + other[0].length
        continue
      }
      // A parser rejects `<` within a tag (XML 1.0, 2.3), and the next tag is usually near.
      const next = text.indexOf("<", start + 1)
      if (next === -1 || next - start > MAX_TAG) {
        const isOpen = endOfTag(text, start) === -1
        if (isOpen && text.length - start > MAX_TAG) return true
        if (next === -1) return isOpen && this.#keep(text.slice(start))
      }
      at = next
    }
  }

  #keep(rest: string): false {
    this.#rest = rest
    return false
  }
}

const hasLongTag = (pieces: TextPieces): boolean => {
  const tags = new TagCheck()
  for (const piece of pieces) {
    if (tags.isExceededBy(piece)) return true
  }
  return false
}

const check = Effect.fnUntraced(function*(pieces: TextPieces) {
  let sinceTag = 0
  let mayBeLong = false
  for (const piece of pieces) {
    const first = piece.indexOf("<")
    sinceTag += first === -1 ? piece.length : first
    mayBeLong ||= sinceTag > MAX_TAG || piece.length > MAX_TAG
    if (first !== -1) sinceTag = piece.length - piece.lastIndexOf("<")
  }
  // A parser rejects `<` within a tag (XML 1.0, 2.3): no tag is longer than the way to the next.
  if ((mayBeLong || sinceTag > MAX_TAG) && hasLongTag(pieces)) return yield* InvalidInput.at("", LONG_TAG)
})

const COMMON_MISTAKE = /[^\t\n\r\u0020-\uFFFD]/

const NO_CHARACTER = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

/** Removes what XML 1.0 cannot carry, not even as a reference (XML 1.0, 2.2). */
export const carried = (text: string): string =>
  // The second expression decides; it takes four times as long.
  text.isWellFormed() && !COMMON_MISTAKE.test(text) ? text : text.replace(NO_CHARACTER, "")

/** The longest line of a route has 6 MiB in KML. */
const MAX_TOKEN = 8 * 1024 * 1024

const MAX_DEPTH = 256

/** The text is decoded: what the declaration says, or gets wrong, does not count any more. */
const DECLARATION = /^<\?xml\s[^>]*\?>/

/** Some devices write control characters into names, or blanks before the declaration. */
function* carriedPieces(pieces: TextPieces): Generator<[string]> {
  let isStarted = false
  for (const piece of pieces) {
    const text: string = isStarted ? piece : piece.trimStart().replace(DECLARATION, "")
    isStarted ||= text !== ""
    if (isStarted) yield [carried(text)]
  }
}

const LIMITS =
  `Expected at most ${MAX_DEPTH} levels, and ${MAX_TOKEN} characters in one text, such as the positions of a line`

const fromParser = ({ kind, line, message }: Xml.XmlError) => {
  const problem = `line ${line ?? 1}: ${message.replace(/ at line \d+, column \d+$/, "")}`
  return InvalidInput.at("", kind === "Limit" ? `${LIMITS}: ${problem}` : malformed(problem))
}

const decoded = (pieces: TextPieces) =>
  Channel.fromIterable(carriedPieces(pieces)).pipe(
    Channel.pipeTo(Xml.decodeString({ maxTokenSize: MAX_TOKEN, maxDepth: MAX_DEPTH })),
    Channel.mapError(fromParser)
  )

/** Reads the root element with its `known` elements and attributes, within limits. Pieces are checked, then parsed. */
export const parseXml = Effect.fnUntraced(function*(
  pieces: TextPieces,
  rootNames: readonly [string, ...ReadonlyArray<string>],
  known: ReadonlySet<string>,
  points?: PointReader
) {
  yield* check(pieces)
  const tree = new XmlTree(known, points)
  yield* Channel.runForEach(decoded(pieces), (events) =>
    Effect.suspend(() => {
      const problem = tree.take(events)
      return problem === undefined ? Effect.void : InvalidInput.at("", problem)
    }))
  const { root } = tree
  if (root === undefined || !rootNames.includes(root.name)) {
    return yield* InvalidInput.at("", `Expected <${rootNames[0]}>, not <${root?.name.slice(0, MAX_MESSAGE) ?? ""}>`)
  }
  return root
})

/** The content is text, elements by name (`@name` is an attribute), or several elements of one name. */
type XmlContent = string | undefined | XmlParts | ReadonlyArray<XmlContent>
export interface XmlParts {
  readonly [name: string]: XmlContent
}

export const XML_DECLARATION = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

export const OWN_NAMESPACE = `xmlns:rps="${OWN_URI}"`

const REFERENCES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&apos;",
  // An unescaped carriage return would be read as a line feed.
  "\r": "&#13;"
}

const escaped = (text: string) => carried(text).replace(/[&<>"'\r]/g, (character) => REFERENCES[character] ?? character)

const ATTRIBUTE = "@"

const elementOf = (name: string, content: XmlContent): string => {
  if (content === undefined) return ""
  if (typeof content === "string") return `<${name}>${escaped(content)}</${name}>`
  if (isList(content)) return content.map((item) => elementOf(name, item)).join("")
  const attributes = Object.entries(content).map(([key, value]) =>
    key.startsWith(ATTRIBUTE) && typeof value === "string" ? ` ${key.slice(ATTRIBUTE.length)}="${escaped(value)}"` : ""
  )
  return `<${name}${attributes.join("")}>${xmlOf(content)}</${name}>`
}

const isList = (content: XmlContent): content is ReadonlyArray<XmlContent> => Array.isArray(content)

export const xmlOf = (parts: XmlParts): string =>
  Object.entries(parts).map(([name, content]) => name.startsWith(ATTRIBUTE) ? "" : elementOf(name, content)).join("")
