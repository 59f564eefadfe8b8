import { Effect, type Schema, Stream } from "effect"
import { ArchivedCollection, ArchivedRoute } from "../../schema/Archive.ts"
import { ValidationFailed, type ValidationIssue } from "../../schema/Errors.ts"
import type { ShareToken } from "../../schema/Ids.ts"
import { MAX_ISSUES } from "../../schema/Issues.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { storedBytesAtMost } from "../routes/RouteColumns.ts"
import type { Turn } from "./ImportTurns.ts"
import type { Element } from "./Lines.ts"
import { below, type CheckedArchive, type ListName, LISTS } from "./ZipReader.ts"

type Decode<A> = (element: Element) => Effect.Effect<A, ReadonlyArray<ValidationIssue>>

// Each lets others have their turn first: a batch of long routes is some hundred milliseconds of work.
const decoderOf = <S extends Schema.ConstraintDecoder<unknown>>(file: string, schema: S): Decode<S["Type"]> => {
  const decodeElement = decodeBounded(schema)
  return ({ json, line }) =>
    Effect.andThen(
      Effect.yieldNow,
      Effect.mapError(decodeElement(json), (issues) => below(`${file}:${line}`, issues))
    )
}

/** A line of `routes.json`, by the rules of a new route. Fails with what is wrong with it. */
export const decodeRoute = decoderOf("routes.json", ArchivedRoute)

/** A line of `collections.json`, by the rules of a new collection. */
export const decodeCollection = decoderOf("collections.json", ArchivedCollection)

/** What an archive has, by origin, and about how many bytes each of them would store. */
export type Contents = ReadonlyMap<ShareToken, number>

const readList = Effect.fnUntraced(function*<A extends { readonly origin: ShareToken }>(
  archive: CheckedArchive,
  file: ListName,
  decode: Decode<A>,
  bytesOf: (element: A) => number,
  turn: Turn
) {
  const issues: Array<ValidationIssue> = []
  const contents = new Map<ShareToken, number>()
  yield* archive.elements(file).pipe(
    Stream.flattenIterable,
    Stream.takeWhile(() => issues.length < MAX_ISSUES),
    Stream.runForEach((element) =>
      Effect.match(turn(decode(element)), {
        onFailure: (found) => {
          issues.push(...found)
        },
        onSuccess: (decoded) => {
          const { origin } = decoded
          if (contents.has(origin)) issues.push({ path: `${file}:${element.line}.origin`, message: "Expected it once" })
          contents.set(origin, bytesOf(decoded))
        }
      })
    )
  )
  const count = archive.manifest.counts[LISTS[file]]
  if (issues.length === 0 && contents.size !== count) {
    issues.push({ path: file, message: `Expected ${count} elements, as the manifest says` })
  }
  return { contents, issues }
})

/**
 * Decodes every route and collection of an archive, each in a turn. `ValidationFailed` names those that could not be stored.
 */
export const checkElements = Effect.fnUntraced(function*(archive: CheckedArchive, turn: Turn) {
  const routes = yield* readList(archive, "routes.json", decodeRoute, storedBytesAtMost, turn)
  const collections = yield* readList(archive, "collections.json", decodeCollection, () => 0, turn)
  const issues = [...routes.issues, ...collections.issues]
  if (issues.length > 0) return yield* ValidationFailed.of(issues.slice(0, MAX_ISSUES))
  return { routes: routes.contents, collections: collections.contents }
})
