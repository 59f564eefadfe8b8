import { Channel, Effect } from "effect"
import { Xml } from "effect/encoding"
import { InvalidInput } from "../DomainErrors.ts"
import { PIECE_LENGTH } from "./FileValues.ts"
import { type PointReader, XmlTree } from "./XmlTree.ts"

const MAX_TAG = 65_536

const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27
const EXCLAMATION_MARK = 0x21
const QUESTION_MARK = 0x3f
const GREATER_THAN = 0x3e

const OTHERS = [["<!--", "-->"], ["<![CDATA[", "]]>"], ["<?", "?>"]] as const

const endOfTag = (text: string, start: number): number => {
  const limit = Math.min(text.length, start + MAX_TAG)
  let quote = 0
  for (let index = start + 1; index < limit; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) quote = 0
    else if (quote === 0 && code === GREATER_THAN) return index
    else if (quote === 0 && (code === DOUBLE_QUOTE || code === SINGLE_QUOTE)) quote = code
  }
  return limit === text.length ? limit : -1
}

const endAt = (text: string, start: number): number => {
  const code = text.charCodeAt(start + 1)
  const other = code === EXCLAMATION_MARK || code === QUESTION_MARK
    ? OTHERS.find(([opening]) => text.startsWith(opening, start))
    : undefined
  if (other !== undefined) {
    const end = text.indexOf(other[1], start + other[0].length)
    return end === -1 ? text.length : end
  }
  // A parser rejects `<` within a tag (XML 1.0, 2.3), and the next tag is usually near.
  const next = text.indexOf("<", start + 1)
  const isNear = (next === -1 ? text.length : next) - start <= MAX_TAG
  return isNear ? start + 1 : endOfTag(text, start)
}

/** A parser reads a tag as a whole: 800,000 attributes take a second and 100 MiB before they can be counted. */
const hasLongTag = (text: string): boolean => {
  for (let start = text.indexOf("<"); start !== -1;) {
    const end = endAt(text, start)
    if (end === -1) return true
    start = text.indexOf("<", end)
  }
  return false
}

const COMMON_MISTAKE = /[^\t\n\r\u0020-\uFFFD]/

const NO_CHARACTER = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

/** Removes what XML 1.0 cannot carry, not even as a reference (XML 1.0, 2.2). */
export const carried = (text: string): string =>
  // The second expression decides; it takes four times as long.
  text.isWellFormed() && !COMMON_MISTAKE.test(text) ? text : text.replace(NO_CHARACTER, "")

const MAX_MESSAGE = 200

const MAX_TOKEN = 8 * 1024 * 1024

const MAX_DEPTH = 256

function* piecesOf(text: string): Generator<[string]> {
  for (let start = 0; start < text.length; start += PIECE_LENGTH) yield [text.slice(start, start + PIECE_LENGTH)]
}

const malformed = (message: string) => InvalidInput.at("", `Malformed XML: ${message.slice(0, MAX_MESSAGE)}`)

const fromParser = ({ line, message }: Xml.XmlError) =>
  malformed(`line ${line ?? 1}: ${message.replace(/ at line \d+, column \d+$/, "")}`)

const decoded = (text: string) =>
  Channel.fromIterable(piecesOf(text)).pipe(
    Channel.pipeTo(Xml.decodeString({ maxTokenSize: MAX_TOKEN, maxDepth: MAX_DEPTH })),
    Channel.mapError(fromParser)
  )

/**
 * Reads the root element, which has one of the names, with the `known` elements and attributes, as a stream within limits. Rejects document types
 * and entity declarations before parsing, so that nothing expands.
 */
export const parseXml = Effect.fnUntraced(function*(
  text: string,
  rootNames: readonly [string, ...ReadonlyArray<string>],
  known: ReadonlySet<string>,
  points?: PointReader
) {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) {
    return yield* InvalidInput.at("", "Document types and entity declarations are not accepted")
  }
  if (hasLongTag(text)) return yield* malformed(`a tag has more than ${MAX_TAG} characters`)
  const tree = new XmlTree(known, points)
  // Some devices write control characters into names.
  yield* Channel.runForEach(decoded(carried(text.trimStart())), (events) =>
    Effect.suspend(() => {
      const problem = tree.take(events)
      return problem === undefined ? Effect.void : Effect.fail(malformed(problem))
    }))
  const { root } = tree
  if (root === undefined || !rootNames.includes(root.name)) {
    return yield* InvalidInput.at("", `Expected <${rootNames[0]}>, not <${root?.name.slice(0, MAX_MESSAGE) ?? ""}>`)
  }
  return root
})
