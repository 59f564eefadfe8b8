import { Result } from "effect"
import { serialize } from "node:v8"
import { ArchivedCollection, ArchivedRoute } from "../../schema/Archive.ts"
import type { ValidationIssue } from "../../schema/Errors.ts"
import type { Position } from "../../schema/Geometry.ts"
import type { ShareToken } from "../../schema/Ids.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { readerWithLine } from "../routes/GeometryReader.ts"
import { columnsWithoutPlace, startOf, storedBytes } from "../routes/RouteColumns.ts"
import { ARCHIVES, outcomeAt } from "./DecodedFiles.ts"
import type { Element } from "./ElementReader.ts"

/** The files that have one element a line, and where the manifest counts them. */
export const LISTS = { "routes.json": "routes", "collections.json": "collections" } as const
export type ListName = keyof typeof LISTS

/** What the main thread reads of a route of an archive; the rest of it is in `Rows`. */
export type ImportedRoute = Pick<ArchivedRoute, "createdAt" | "id" | "origin" | "updatedAt" | "visibility"> & {
  readonly start: Position
}

/** Rows of a table by column, which a thread wrote and PostgreSQL reads: between them they are bytes. */
export interface Rows {
  /** The columns that any of the rows has. */
  readonly columns: ReadonlyArray<string>
  /** A JSON array of objects in UTF-8. */
  readonly json: Uint8Array<ArrayBuffer>
}

/** An element that could be stored: by what it is known, and how many bytes it would add to what its account stores. */
interface Storable {
  readonly line: number
  readonly origin: ShareToken
  readonly bytes: number
}

/** The storable elements of a batch. */
export interface StoredBatch {
  /** An array that `node:v8` serialized: a thread that only hands it on does not read it. */
  readonly records: Uint8Array<ArrayBuffer>
  readonly rows: Rows
}

/** A batch of elements that was decoded. */
interface DecodedBatch extends StoredBatch {
  readonly issues: ReadonlyArray<ValidationIssue>
  readonly storable: ReadonlyArray<Storable>
}

/**
 * Elements in the buffer that they share, which is transferred: the line of each, where it starts and where it ends.
 */
interface PackedElements {
  readonly bytes: ArrayBuffer
  readonly lines: ReadonlyArray<number>
  readonly starts: ReadonlyArray<number>
  readonly ends: ReadonlyArray<number>
}

/** Elements of a batch, which share a buffer. */
export const packed = (elements: ReadonlyArray<Element>): PackedElements => ({
  bytes: elements[0]?.json.buffer ?? new ArrayBuffer(),
  lines: elements.map(({ line }) => line),
  starts: elements.map(({ json }) => json.byteOffset),
  ends: elements.map(({ json }) => json.byteOffset + json.length)
})

/** Decodes a batch of the elements of a list. */
export type ListJob = HeavyJob<PackedElements, DecodedBatch>

type Row = Readonly<Record<string, unknown>>

/** What is kept of an element. */
interface Decoded<A> {
  readonly record: A
  readonly bytes: number
  readonly row?: Row
}

const rowsOf = (rows: ReadonlyArray<Row>): Rows => ({
  columns: [...new Set(rows.flatMap((row) => Object.keys(row)))],
  json: new TextEncoder().encode(JSON.stringify(rows))
})

const listJob = <A extends { readonly origin: ShareToken }>(
  file: ListName,
  read: (text: Buffer) => Result.Result<Decoded<A>, ReadonlyArray<ValidationIssue>>
): ListJob => ({
  name: `read ${file}`,
  share: ARCHIVES,
  run: ({ bytes, ends, lines, starts }) => {
    const issues: Array<ValidationIssue> = []
    const storable: Array<Storable> = []
    const records: Array<A> = []
    const rows: Array<Row> = []
    for (const [index, line] of lines.entries()) {
      const start = starts[index] ?? 0
      const text = Buffer.from(bytes, start, (ends[index] ?? start) - start)
      const outcome = outcomeAt(`${file}:${line}`, read(text))
      if ("issues" in outcome) {
        issues.push(...outcome.issues)
        continue
      }
      const { bytes: stored, record, row } = outcome.value
      records.push(record)
      storable.push({ line, origin: record.origin, bytes: stored })
      if (row !== undefined) rows.push(row)
    }
    return { issues, storable, records: serialize(records), rows: rowsOf(rows) }
  },
  transferred: ({ records, rows }) => [records.buffer, rows.json.buffer]
})

const readRoute = readerWithLine(decodeBounded(ArchivedRoute))

/** Lines of `routes.json`, by the rules of a new route, with their geometries measured. */
export const readRoutes: ListJob = listJob(
  "routes.json",
  (text) =>
    Result.map(readRoute(text), ({ line, rest }): Decoded<ImportedRoute> => {
      const { createdAt, id, origin, updatedAt, visibility } = rest
      return {
        record: { createdAt, id, origin, updatedAt, visibility, start: startOf(line, rest.waypoints) },
        bytes: storedBytes(rest, line),
        row: { ...columnsWithoutPlace(rest, line ?? null), imported_from: origin }
      }
    })
)

const readCollection = decodeBounded(ArchivedCollection)

/** Lines of `collections.json`, by the rules of a new collection. Their bytes do not count. */
export const readCollections: ListJob = listJob(
  "collections.json",
  (text) => Result.map(readCollection(text), (record): Decoded<ArchivedCollection> => ({ record, bytes: 0 }))
)
