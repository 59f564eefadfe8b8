import { Result } from "effect"
import { serialize } from "node:v8"
import { ArchivedCollection, ArchivedRoute } from "../../schema/Archive.ts"
import type { ValidationIssue } from "../../schema/Errors.ts"
import type { ShareToken } from "../../schema/Ids.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { readerWithLine } from "../routes/GeometryReader.ts"
import { type Line, storedBytes } from "../routes/RouteColumns.ts"
import { ARCHIVES, outcomeAt } from "./DecodedFiles.ts"
import type { Element } from "./Lines.ts"

/** The files that have one element a line, and where the manifest counts them. */
export const LISTS = { "routes.json": "routes", "collections.json": "collections" } as const
export type ListName = keyof typeof LISTS

/** A route of an archive with its line measured. */
export type MeasuredRoute = Omit<ArchivedRoute, "geometry"> & { readonly line: Line }

/** An element that could be stored: by what it is known, and how many bytes it would add to what its account stores. */
interface Storable {
  readonly line: number
  readonly origin: ShareToken
  readonly bytes: number
}

/** A batch of elements that was decoded. */
interface DecodedBatch {
  readonly issues: ReadonlyArray<ValidationIssue>
  readonly storable: ReadonlyArray<Storable>
  /** The storable elements as an array that `node:v8` serialised: a thread that only hands them on reads none of them. */
  readonly records: Uint8Array<ArrayBuffer>
}

/** Elements one behind the other in one buffer, which is transferred: the line of each, and where it ends. */
interface PackedElements {
  readonly bytes: ArrayBuffer
  readonly lines: ReadonlyArray<number>
  readonly ends: ReadonlyArray<number>
}

export const packed = (elements: ReadonlyArray<Element>): PackedElements => {
  const bytes = new Uint8Array(elements.reduce((sum, { json }) => sum + json.length, 0))
  const ends: Array<number> = []
  for (const { json } of elements) {
    const start = ends.at(-1) ?? 0
    bytes.set(json, start)
    ends.push(start + json.length)
  }
  return { bytes: bytes.buffer, lines: elements.map(({ line }) => line), ends }
}

/** Decodes a batch of the elements of a list. */
export type ListJob = HeavyJob<PackedElements, DecodedBatch>

const listJob = <A extends { readonly origin: ShareToken }>(
  file: ListName,
  read: (text: Buffer) => Result.Result<A, ReadonlyArray<ValidationIssue>>,
  bytesOf: (record: A) => number
): ListJob => ({
  name: `read ${file}`,
  share: ARCHIVES,
  run: ({ bytes, ends, lines }) => {
    const issues: Array<ValidationIssue> = []
    const storable: Array<Storable> = []
    const records: Array<A> = []
    for (const [index, line] of lines.entries()) {
      const start = ends[index - 1] ?? 0
      const text = Buffer.from(bytes, start, (ends[index] ?? start) - start)
      const outcome = outcomeAt(`${file}:${line}`, read(text))
      if ("issues" in outcome) {
        issues.push(...outcome.issues)
        continue
      }
      records.push(outcome.value)
      storable.push({ line, origin: outcome.value.origin, bytes: bytesOf(outcome.value) })
    }
    return { issues, storable, records: serialize(records) }
  },
  transferred: ({ records }) => [records.buffer]
})

const readRoute = readerWithLine(decodeBounded(ArchivedRoute))

/** Lines of `routes.json`, by the rules of a new route, with their geometries measured. */
export const readRoutes: ListJob = listJob(
  "routes.json",
  (text) => Result.map(readRoute(text), ({ line, rest }): MeasuredRoute => ({ ...rest, line })),
  (route) => storedBytes(route, route.line)
)

/** Lines of `collections.json`, by the rules of a new collection. Their bytes do not count. */
export const readCollections: ListJob = listJob("collections.json", decodeBounded(ArchivedCollection), () => 0)
