import { Channel, Effect } from "effect"
import { Xml } from "effect/encoding"
import { InvalidInput } from "../DomainErrors.ts"
import { PIECE_LENGTH } from "./FileValues.ts"
import { patternOf, type XmlPattern } from "./XmlPattern.ts"
import { type PointReader, XmlTree } from "./XmlTree.ts"

const MAX_TAG = 65_536

const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27
const GREATER_THAN = 0x3e

const OTHERS = [["<!--", "-->"], ["<![CDATA[", "]]>"], ["<?", "?>"]] as const

/** A text in pieces that can be read more than once. No piece ends within a character. */
export type TextPieces = Iterable<string>

/** Decodes piece by piece, so that a long file is never one string. Throws for bytes that are not of the encoding. */
export const piecesOfBytes = (bytes: Uint8Array, encoding: string): TextPieces => ({
  *[Symbol.iterator]() {
    const decoder = new TextDecoder(encoding, { fatal: true })
    for (let start = 0; start < bytes.length; start += PIECE_LENGTH) {
      yield decoder.decode(bytes.subarray(start, start + PIECE_LENGTH), { stream: true })
    }
    yield decoder.decode()
  }
})

/** Returns the index of the end within the longest tag, -1 without one. */
const endOfTag = (text: string, start: number): number => {
  const limit = Math.min(text.length, start + MAX_TAG)
  let quote = 0
  for (let index = start + 1; index < limit; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) quote = 0
    else if (quote === 0 && code === GREATER_THAN) return index
    else if (quote === 0 && (code === DOUBLE_QUOTE || code === SINGLE_QUOTE)) quote = code
  }
  return -1
}

const LONGEST_OPENING = Math.max(...OTHERS.map(([opening]) => opening.length))

const LONG_TAG = `a tag has more than ${MAX_TAG} characters`

/** A parser reads a tag as a whole: 800,000 attributes take a second and 100 MiB before they can be counted. */
class TagCheck {
  /** Markup whose kind or end is in a later piece. */
  #rest = ""
  /** Ends the comment, section or instruction that goes on. */
  #closing: string | undefined

  /** Returns true if a tag is too long. */
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
      if (text.length - start < LONGEST_OPENING) return this.#keep(text.slice(start))
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

const DECLARATION = /<!(?:DOCTYPE|ENTITY)/i

const LONGEST_DECLARATION = "<!DOCTYPE".length

const COMMON_MISTAKE = /[^\t\n\r\u0020-\uFFFD]/

const NO_CHARACTER = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

/** Removes what XML 1.0 cannot carry, not even as a reference (XML 1.0, 2.2). */
export const carried = (text: string): string =>
  // The second expression decides; it takes four times as long.
  text.isWellFormed() && !COMMON_MISTAKE.test(text) ? text : text.replace(NO_CHARACTER, "")

const MAX_MESSAGE = 200

/** The longest line of a route has 6 MiB in KML. */
const MAX_TOKEN = 8 * 1024 * 1024

const MAX_DEPTH = 256

const malformed = (message: string) => InvalidInput.at("", `Malformed XML: ${message.slice(0, MAX_MESSAGE)}`)

const fromParser = ({ line, message }: Xml.XmlError) =>
  malformed(`line ${line ?? 1}: ${message.replace(/ at line \d+, column \d+$/, "")}`)

/** Most files have a few forms of points. */
const MAX_PATTERNS = 8

/** Each costs as much as several points; a file of 32 MiB has 512 pieces. */
const MAX_SAMPLES = 1000

/**
 * Passes a text to the parser, but for repeated elements: one of each form is parsed, and its like are read by its pattern. These
 * are most of a recording, and several times as fast. Refuses what no parser should see: a declaration of entities, or a
 * long tag.
 */
class XmlInput {
  refusal: InvalidInput | undefined
  readonly #tree: XmlTree
  readonly #opening: string
  readonly #closing: string
  readonly #tags = new TagCheck()
  readonly #patterns: Array<XmlPattern> = []
  #events: ReadonlyArray<Xml.Event> = []
  #samples: number
  /** The parser has read everything before, the end of a repeated element last. */
  #isAfterElement = false
  /** Line ends that the parser has not seen, for its messages. */
  #lines = 0

  constructor(tree: XmlTree, repeated: string | undefined) {
    this.#tree = tree
    this.#opening = `<${repeated}`
    this.#closing = `</${repeated}>`
    this.#samples = repeated === undefined ? 0 : MAX_SAMPLES
  }

  take(events: ReadonlyArray<Xml.Event>): Effect.Effect<void, InvalidInput> {
    this.#events = events
    this.#add(events)
    return this.refusal === undefined ? Effect.void : Effect.fail(this.refusal)
  }

  /** Some devices write control characters into names, or blanks before the declaration. */
  *pieces(given: TextPieces): Generator<[string]> {
    let isStarted = false
    let before = ""
    let rest = ""
    for (const piece of given) {
      const text = carried(isStarted ? piece : piece.trimStart())
      isStarted ||= text !== ""
      if (text === "") continue
      before += text
      if (DECLARATION.test(before)) {
        this.refusal = InvalidInput.at("", "Document types and entity declarations are not accepted")
        return
      }
      before = before.slice(1 - LONGEST_DECLARATION)
      rest = yield* this.#piecesOf(rest + text)
      if (this.refusal !== undefined) return
    }
    if (rest !== "") yield* this.#parsed(rest)
  }

  /** Returns the start of an element that ends in a later piece. */
  *#piecesOf(text: string): Generator<[string], string> {
    for (let at = 0;;) {
      if (this.#isAfterElement) at = this.#readRepeated(text, at)
      const start = this.#samples === 0 ? -1 : text.indexOf(this.#opening, at)
      const last = start === -1 ? -1 : text.indexOf(this.#closing, start)
      if (last === -1) {
        const isOpen = start !== -1 && text.length - start < PIECE_LENGTH
        const end = isOpen ? start : text.length
        this.#isAfterElement &&= at === end
        yield* this.#parsed(text.slice(at, end))
        return text.slice(end)
      }
      yield* this.#parsed(text.slice(at, start))
      at = last + this.#closing.length
      this.#events = []
      yield* this.#parsed(text.slice(start, at))
      this.#learn(text.slice(start, at))
    }
  }

  *#parsed(text: string): Generator<[string]> {
    if (text === "" || this.refusal !== undefined) return
    if (this.#tags.isExceededBy(text)) this.refusal = malformed(LONG_TAG)
    else yield [this.#lines === 0 ? text : "\n".repeat(this.#lines) + text]
    this.#lines = 0
  }

  #learn(sample: string): void {
    this.#samples--
    const pattern = patternOf(sample, this.#events)
    const isNew = pattern !== undefined && !this.#patterns.some(({ source }) => source === pattern.source)
    if (isNew && this.#patterns.length < MAX_PATTERNS) this.#patterns.push(pattern)
    this.#isAfterElement = pattern !== undefined
  }

  #readRepeated(text: string, from: number): number {
    for (let at = from;;) {
      const start = at
      const found = this.#readOne(text, start)
      if (found === undefined || this.refusal !== undefined) return at
      this.#add(found.events)
      at = found.end
      for (let end = text.indexOf("\n", start); end !== -1 && end < at; end = text.indexOf("\n", end + 1)) this.#lines++
    }
  }

  #readOne(text: string, at: number) {
    for (const pattern of this.#patterns) {
      const found = pattern.read(text, at)
      if (found !== undefined) return found
    }
    return undefined
  }

  #add(events: ReadonlyArray<Xml.Event>): void {
    const problem = this.#tree.take(events)
    if (problem !== undefined) this.refusal ??= malformed(problem)
  }
}

/**
 * Reads the root element, which has one of the names, with the `known` elements and attributes, as a stream within limits.
 */
export const parseXml = Effect.fnUntraced(function*(
  pieces: TextPieces,
  rootNames: readonly [string, ...ReadonlyArray<string>],
  known: ReadonlySet<string>,
  points?: PointReader
) {
  const tree = new XmlTree(known, points)
  const input = new XmlInput(tree, points?.repeated)
  yield* Channel.fromIterable(input.pieces(pieces)).pipe(
    Channel.pipeTo(Xml.decodeString({ maxTokenSize: MAX_TOKEN, maxDepth: MAX_DEPTH })),
    Channel.mapError(fromParser),
    Channel.runForEach((events) => input.take(events)),
    Effect.mapError((error) => input.refusal ?? error)
  )
  if (input.refusal !== undefined) return yield* input.refusal
  const { root } = tree
  if (root === undefined || !rootNames.includes(root.name)) {
    return yield* InvalidInput.at("", `Expected <${rootNames[0]}>, not <${root?.name.slice(0, MAX_MESSAGE) ?? ""}>`)
  }
  return root
})
