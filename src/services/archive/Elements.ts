import { Effect, type Schema, Stream } from "effect"
import { ArchivedCollection, ArchivedRoute } from "../../schema/Archive.ts"
import { ValidationFailed, type ValidationIssue } from "../../schema/Errors.ts"
import { MAX_ISSUES } from "../../schema/Issues.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import type { Element } from "./Lines.ts"
import { below, type CheckedArchive, type ListName } from "./ZipReader.ts"

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

const issuesIn = Effect.fnUntraced(function*(
  archive: CheckedArchive,
  file: ListName,
  decode: Decode<{ readonly origin: string }>,
  count: number
) {
  const issues: Array<ValidationIssue> = []
  const origins = new Set<string>()
  yield* archive.elements(file).pipe(
    Stream.flattenIterable,
    Stream.takeWhile(() => issues.length < MAX_ISSUES),
    Stream.runForEach((element) =>
      Effect.match(decode(element), {
        onFailure: (found) => {
          issues.push(...found)
        },
        onSuccess: ({ origin }) => {
          if (origins.has(origin)) issues.push({ path: `${file}:${element.line}.origin`, message: "Expected it once" })
          origins.add(origin)
        }
      })
    )
  )
  return issues.length > 0 || origins.size === count
    ? issues
    : [{ path: file, message: `Expected ${count} elements, as the manifest says` }]
})

/** Decodes every route and collection of an archive. `ValidationFailed` names those that could not be stored. */
export const checkElements = Effect.fnUntraced(function*(archive: CheckedArchive) {
  const { counts } = archive.manifest
  const issues = [
    ...yield* issuesIn(archive, "routes.json", decodeRoute, counts.routes),
    ...yield* issuesIn(archive, "collections.json", decodeCollection, counts.collections)
  ]
  if (issues.length > 0) return yield* ValidationFailed.of(issues.slice(0, MAX_ISSUES))
})
