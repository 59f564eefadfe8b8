import { Channel, Effect } from "effect"
import { Xml } from "effect/encoding"
import { ValidationFailed } from "../../../schema/Errors.ts"
import { carried } from "./Characters.ts"
import { hasLongTag, MAX_TAG } from "./TagLengths.ts"
import { type PointReader, XmlTree } from "./XmlTree.ts"

const MAX_MESSAGE = 200

/** The most characters of a text, a comment or a tag: those of the longest file. */
const MAX_TOKEN = 8 * 1024 * 1024

const MAX_DEPTH = 256

/** How much is parsed at once, before its elements go into the tree. */
const PIECE_LENGTH = 65_536

function* piecesOf(text: string): Generator<[string]> {
  for (let start = 0; start < text.length; start += PIECE_LENGTH) yield [text.slice(start, start + PIECE_LENGTH)]
}

const malformed = (message: string) => ValidationFailed.at("", `Malformed XML: ${message.slice(0, MAX_MESSAGE)}`)

/** The parser puts line and column behind its words; the line goes before them. */
const fromParser = ({ line, message }: Xml.XmlError) =>
  malformed(`line ${line ?? 1}: ${message.replace(/ at line \d+, column \d+$/, "")}`)

const decoded = (text: string) =>
  Channel.fromIterable(piecesOf(text)).pipe(
    Channel.pipeTo(Xml.decodeString({ maxTokenSize: MAX_TOKEN, maxDepth: MAX_DEPTH })),
    Channel.mapError(fromParser)
  )

/**
 * The root element of an XML text, which must have the given local name, with the elements and attributes of the `known`
 * names in it. The text is read as a stream, within bounds on depth, elements, attributes and text. Declarations of
 * entities and document types are refused before anything is parsed, so nothing in a file can expand into more than it is.
 */
export const parseXml = Effect.fnUntraced(function*(
  text: string,
  rootName: string,
  known: ReadonlySet<string>,
  points?: PointReader
) {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return yield* ValidationFailed.at("", "Entity declarations are refused")
  if (hasLongTag(text)) return yield* malformed(`a tag has more than ${MAX_TAG} characters`)
  const tree = new XmlTree(known, points)
  // Some devices write control characters into names.
  yield* Channel.runForEach(decoded(carried(text.trimStart())), (events) =>
    Effect.suspend(() => {
      const complaint = tree.take(events)
      return complaint === undefined ? Effect.void : Effect.fail(malformed(complaint))
    }))
  const { root } = tree
  if (root?.name !== rootName) {
    return yield* ValidationFailed.at("", `Expected <${rootName}>, not <${root?.name.slice(0, MAX_MESSAGE) ?? ""}>`)
  }
  return root
})
