import { Result } from "effect"
import { ArchivedCollection, ArchivedRoute } from "../../schema/Archive.ts"
import type { Position } from "../../schema/Geometry.ts"
import type { ShareToken } from "../../schema/Ids.ts"
import type { ValidationIssue } from "../../schema/Issues.ts"
import { HeavyJob } from "../heavy/HeavyJob.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { readerWithLine, type WithLine } from "../routes/GeometryReader.ts"
import { cueBeyond, startOf, storedBytes, valuesWithoutPlace } from "../routes/RouteColumns.ts"
import { routesTable } from "../routes/RouteRecord.ts"
import { digestOf, type LineDigest } from "../routes/SameLines.ts"
import { ARCHIVES, outcomeAt } from "./DecodedFiles.ts"
import type { Elements } from "./ElementReader.ts"

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

interface CheckedElements {
  readonly issues: ReadonlyArray<ValidationIssue>
  readonly storable: ReadonlyArray<Storable>
}

export interface Batch<A> {
  readonly records: ReadonlyArray<A>
  readonly rows: Rows
}

export type CheckJob = HeavyJob<Elements, CheckedElements>

export type ReadJob<A> = HeavyJob<Elements, Batch<A>>

type Row = ReturnType<typeof valuesWithoutPlace> & { readonly importedFrom: ShareToken }

interface Decoded<A> {
  readonly origin: ShareToken
  readonly bytes: number
  readonly stored: () => { readonly record: A; readonly row?: Row }
}

const rowsOf = (rows: ReadonlyArray<Row>): Rows => {
  const stored = rows.map(routesTable.byColumn)
  return { columns: Object.keys(stored[0] ?? {}), json: new TextEncoder().encode(JSON.stringify(stored)) }
}

/** Two passes over a list: `check` finds what is wrong with any element, `read` decodes again what is written. */
const listJobs = <A>(
  file: ListName,
  decode: (text: Buffer) => Result.Result<Decoded<A>, ReadonlyArray<ValidationIssue>>
): { readonly check: CheckJob; readonly read: ReadJob<A> } => {
  const outcomesOf = ({ bytes, ends, first }: Elements) => {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    return ends.map((end, index) => {
      const line = first + index
      return { line, outcome: outcomeAt(`${file}:${line}`, decode(text.subarray(ends[index - 1] ?? 0, end))) }
    })
  }
  return {
    check: new HeavyJob(import.meta.url, {
      name: `check ${file}`,
      share: ARCHIVES,
      run: (elements: Elements) => {
        const outcomes = outcomesOf(elements)
        return {
          issues: outcomes.flatMap(({ outcome }) => "issues" in outcome ? outcome.issues : []),
          storable: outcomes.flatMap(({ line, outcome }) =>
            "issues" in outcome ? [] : [{ line, origin: outcome.value.origin, bytes: outcome.value.bytes }]
          )
        }
      }
    }),
    read: new HeavyJob(import.meta.url, {
      name: `read ${file}`,
      share: ARCHIVES,
      run: (elements: Elements) => {
        const stored = outcomesOf(elements).flatMap(({ outcome }) =>
          "issues" in outcome ? [] : [outcome.value.stored()]
        )
        return {
          records: stored.map(({ record }) => record),
          rows: rowsOf(stored.flatMap(({ row }) => row === undefined ? [] : [row]))
        }
      },
      transferred: ({ rows }) => [rows.json.buffer]
    })
  }
}

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

export const { check: checkRoutes, read: readRoutes } = listJobs(
  "routes.json",
  (text) =>
    Result.map(Result.flatMap(readRoute(text), withCuesOnLine), ({ line, rest }): Decoded<ImportedRoute> => {
      const { createdAt, id, origin, updatedAt, visibility } = rest
      return {
        origin,
        bytes: storedBytes(rest, line),
        stored: () => ({
          record: {
            createdAt,
            id,
            origin,
            updatedAt,
            visibility,
            start: startOf(line, rest.waypoints),
            line: line?.positionCount ? digestOf(line) : undefined
          },
          row: { ...valuesWithoutPlace(rest, line ?? null), importedFrom: origin }
        })
      }
    })
)

const readCollection = decodeBounded(ArchivedCollection)

export const { check: checkCollections, read: readCollections } = listJobs(
  "collections.json",
  (text) =>
    Result.map(readCollection(text), (record): Decoded<ArchivedCollection> => ({
      origin: record.origin,
      bytes: 0,
      stored: () => ({ record })
    }))
)
