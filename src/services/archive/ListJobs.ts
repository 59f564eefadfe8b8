import { Result } from "effect"
import { serialize } from "node:v8"
import { ArchivedCollection, ArchivedRoute } from "../../schema/Archive.ts"
import type { Position } from "../../schema/Geometry.ts"
import type { ShareToken } from "../../schema/Ids.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { readerWithLine, type WithLine } from "../routes/GeometryReader.ts"
import { cueBeyond, startOf, storedBytes, valuesWithoutPlace } from "../routes/RouteColumns.ts"
import { routesTable } from "../routes/RouteRecord.ts"
import { digestOf, type LineDigest } from "../routes/SameLines.ts"
import { ARCHIVES, outcomeAt } from "./DecodedFiles.ts"
import type { Element } from "./ElementReader.ts"

export const LISTS = { "routes.json": "routes", "collections.json": "collections" } as const
export type ListName = keyof typeof LISTS

/** What the main thread needs of a route; the rest is in `Rows`. */
export type ImportedRoute = Pick<ArchivedRoute, "createdAt" | "id" | "origin" | "updatedAt" | "visibility"> & {
  readonly start: Position
  readonly line: LineDigest | undefined
}

/** Rows that a thread serializes and PostgreSQL parses: bytes in between. */
export interface Rows {
  readonly columns: ReadonlyArray<string>
  readonly json: Uint8Array<ArrayBuffer>
}

interface Storable {
  readonly line: number
  readonly origin: ShareToken
  readonly bytes: number
}

export interface StoredBatch {
  /** An array serialized by `node:v8`, so that the main thread can pass it on unread. */
  readonly records: Uint8Array<ArrayBuffer>
  readonly rows: Rows
}

interface DecodedBatch extends StoredBatch {
  readonly issues: ReadonlyArray<ValidationIssue>
  readonly storable: ReadonlyArray<Storable>
}

interface PackedElements {
  readonly bytes: ArrayBuffer
  readonly lines: ReadonlyArray<number>
  readonly starts: ReadonlyArray<number>
  readonly ends: ReadonlyArray<number>
}

export const packed = (elements: ReadonlyArray<Element>): PackedElements => ({
  bytes: elements[0]?.json.buffer ?? new ArrayBuffer(),
  lines: elements.map(({ line }) => line),
  starts: elements.map(({ json }) => json.byteOffset),
  ends: elements.map(({ json }) => json.byteOffset + json.length)
})

export type ListJob = HeavyJob<PackedElements, DecodedBatch>

type Row = ReturnType<typeof valuesWithoutPlace> & { readonly importedFrom: ShareToken }

interface Decoded<A> {
  readonly record: A
  readonly bytes: number
  readonly row?: Row
}

const rowsOf = (rows: ReadonlyArray<Row>): Rows => {
  const stored = rows.map(routesTable.byColumn)
  return { columns: Object.keys(stored[0] ?? {}), json: new TextEncoder().encode(JSON.stringify(stored)) }
}

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

const withCuesOnLine = (
  route: WithLine<ArchivedRoute>
): Result.Result<WithLine<ArchivedRoute>, ReadonlyArray<ValidationIssue>> => {
  const index = cueBeyond(route.rest.cues, route.line?.positionCount ?? 0)
  return index === undefined
    ? Result.succeed(route)
    : Result.fail([{
      path: `cues.${index}.begin_shape_index`,
      message: "Expected the index of a position of the geometry"
    }])
}

export const readRoutes: ListJob = listJob(
  "routes.json",
  (text) =>
    Result.map(Result.flatMap(readRoute(text), withCuesOnLine), ({ line, rest }): Decoded<ImportedRoute> => {
      const { createdAt, id, origin, updatedAt, visibility } = rest
      return {
        record: {
          createdAt,
          id,
          origin,
          updatedAt,
          visibility,
          start: startOf(line, rest.waypoints),
          line: line?.positionCount ? digestOf(line) : undefined
        },
        bytes: storedBytes(rest, line),
        row: { ...valuesWithoutPlace(rest, line ?? null), importedFrom: origin }
      }
    })
)

const readCollection = decodeBounded(ArchivedCollection)

export const readCollections: ListJob = listJob(
  "collections.json",
  (text) => Result.map(readCollection(text), (record): Decoded<ArchivedCollection> => ({ record, bytes: 0 }))
)
