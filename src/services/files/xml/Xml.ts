import { Channel, Effect } from "effect"
import { Xml } from "effect/encoding"
import { InvalidInput } from "../../DomainErrors.ts"
import { PIECE_LENGTH } from "../Chunks.ts"
import { carried } from "./Characters.ts"
import { hasLongTag, MAX_TAG } from "./TagLengths.ts"
import { type PointReader, XmlTree } from "./XmlTree.ts"

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
 * The root element with the `known` elements and attributes, read as a stream within limits. Rejects document types and
 * entity declarations before parsing, so that nothing expands.
 */
export const parseXml = Effect.fnUntraced(function*(
  text: string,
  rootName: string,
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
  if (root?.name !== rootName) {
    return yield* InvalidInput.at("", `Expected <${rootName}>, not <${root?.name.slice(0, MAX_MESSAGE) ?? ""}>`)
  }
  return root
})
