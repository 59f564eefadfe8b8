import { Result, Schema, Struct } from "effect"
import { isUtf8 } from "node:buffer"
import { deserialize, serialize } from "node:v8"
import {
  ArchivedCollection,
  type ArchivedFile,
  ArchivedProfile,
  ArchivedRoute,
  Manifest
} from "../../schema/Archive.ts"
import type { Position } from "../../schema/Geometry.ts"
import type { ShareToken } from "../../schema/Ids.ts"
import { MAX_ISSUES, type ValidationIssue } from "../../schema/Issues.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { decodeBounded, issueBelow } from "../bodies/BoundedJson.ts"
import { MANIFEST } from "../files/PackedFile.ts"
import { readerWithLine, type WithLine, withSegmentsOnLine } from "../routes/RouteJobs.ts"
import { cueBeyond, routesTable, startOf, storedBytes, valuesWithoutPlace } from "../routes/RouteRow.ts"
import { type RouteDigest, routeDigest } from "../routes/RouteText.ts"

export type Outcome<A> = { readonly value: A } | { readonly issues: ReadonlyArray<ValidationIssue> }

const outcomeAt = <A>(place: string, decoded: Result.Result<A, ReadonlyArray<ValidationIssue>>): Outcome<A> =>
  Result.match(decoded, {
    onSuccess: (value) => ({ value }),
    onFailure: (issues) => ({ issues: issues.map(issueBelow(place)) })
  })

/** Replaces invalid UTF-8 by U+FFFD, rather than refusing the whole file. */
const lenient = (bytes: ArrayBuffer) =>
  isUtf8(bytes) ? Buffer.from(bytes) : Buffer.from(new TextDecoder().decode(bytes))

const fileDecoder = <S extends Schema.ConstraintDecoder<unknown>>(name: string, schema: S) => {
  const decode = decodeBounded(schema)
  return (bytes: ArrayBuffer): Outcome<S["Type"]> => outcomeAt(name, decode(lenient(bytes)))
}

export const PROFILE = "profile.json"

const decodeProfile = fileDecoder(PROFILE, ArchivedProfile)

const ARCHIVES = "archives"

export const readProfile = new HeavyJob<ArrayBuffer, Outcome<typeof ArchivedProfile.Type>>(import.meta.url, {
  name: "read profile",
  share: ARCHIVES,
  run: decodeProfile
})

/** A route of 100,000 positions fits, with its other members. */
const MAX_LINE = 10 * 1024 * 1024

const MAX_BATCH_LINES = 100
const MAX_BATCH_BYTES = 1024 * 1024

const LINE_FEED = 0x0a
const COMMA = 0x2c

/** Each line ends at one of `ends`; `first` is the number of the first line, from 1. */
export interface Elements {
  readonly first: number
  readonly bytes: Uint8Array
  readonly ends: ReadonlyArray<number>
}

export class BadLine extends Schema.TaggedError<BadLine>()("BadLine", {
  line: Schema.Int,
  message: Schema.String
}) {}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const parts: Array<Uint8Array> = []
  let line = 1
  let length = 0
  const add = (part: Uint8Array) => {
    length += part.length
    if (length > MAX_LINE) throw new BadLine({ line, message: `Expected a line of at most ${MAX_LINE} bytes` })
    parts.push(part)
  }
  const take = () => {
    line++
    length = 0
    return Buffer.concat(parts.splice(0))
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end))
      start = end + 1
      yield take()
    }
    add(chunk.subarray(start))
  }
  yield take()
}

const isBlank = (byte: number | undefined) => byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)

const trimmed = (line: Buffer) => {
  let start = 0
  let end = line.length
  while (isBlank(line[start])) start++
  while (isBlank(line[end - 1])) end--
  return line.subarray(start, end)
}

const batchOf = (first: number, lines: ReadonlyArray<Uint8Array>): Elements => {
  let end = 0
  return { first, bytes: Buffer.concat(lines), ends: lines.map(({ length }) => end += length) }
}

/**
 * Reads the elements of a JSON array with one element per line, in batches of at most 100 and about 1 MiB (a longer
 * element is a batch of its own). Throws `BadLine` for any other line, and above `most` elements. `JsonArray` of
 * `effect/encoding` would parse on this thread without a limit on values: an element of 10 MiB would block the event
 * loop and create millions of objects.
 */
export async function* elementsOf(chunks: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Elements> {
  const batch: Array<Uint8Array> = []
  let size = 0
  let count = 0
  let line = 0
  let closedAt: number | undefined
  const refused = (message: string) => new BadLine({ line, message })
  for await (const whole of linesOf(chunks)) {
    line++
    const text = trimmed(whole)
    const bracket = text.length === 1 ? text.toString() : ""
    if (line === 1) {
      if (bracket !== "[") throw refused("Expected [ on a line of its own")
    } else if (closedAt !== undefined) {
      // At most one line may be blank, so that a file of line feeds costs nothing.
      if (text.length > 0 || line > closedAt + 1) throw refused("Expected nothing after the array")
    } else if (bracket === "]") {
      closedAt = line
    } else {
      if (text.length === 0 || bracket === "[") throw refused("Expected an element")
      if (++count > most) throw refused(`Expected ${most} elements, as the manifest says`)
      const element = text.at(-1) === COMMA ? text.subarray(0, -1) : text
      batch.push(element)
      size += element.length
      if (batch.length === MAX_BATCH_LINES || size >= MAX_BATCH_BYTES) {
        yield batchOf(line - batch.length + 1, batch.splice(0))
        size = 0
      }
    }
  }
  if (closedAt === undefined) throw refused("Expected ] on a line of its own")
  if (batch.length > 0) yield batchOf(closedAt - batch.length, batch)
}

export const LISTS = { "routes.json": "routes", "collections.json": "collections" } as const
export type ListName = keyof typeof LISTS

/** The main thread needs these members of a route; the rest is in `Rows`. */
const OF_RECORD = ["createdAt", "id", "origin", "updatedAt", "visibility"] as const
export type ImportedRoute = Pick<ArchivedRoute, typeof OF_RECORD[number]> & {
  readonly start: Position
  readonly digest: RouteDigest
}

/** A thread serializes the rows and PostgreSQL parses them; between them they are bytes. */
export interface Rows {
  readonly columns: ReadonlyArray<string>
  readonly json: Uint8Array<ArrayBuffer>
}

interface Storable {
  readonly line: number
  readonly origin: ShareToken
  readonly bytes: number
}

export interface Batch<A> {
  readonly records: ReadonlyArray<A>
  readonly rows: Rows
}

interface DecodedElements {
  readonly issues: ReadonlyArray<ValidationIssue>
  readonly storable: ReadonlyArray<Storable>
  /** `node:v8` serializes the `Batch`: the main thread keeps it unread until all elements are checked. */
  readonly batch: Uint8Array<ArrayBuffer>
}

export interface ListJob<A> {
  readonly job: HeavyJob<Elements, DecodedElements>
  readonly batchIn: (bytes: Uint8Array) => Batch<A>
}

type Row = ReturnType<typeof valuesWithoutPlace> & { readonly importedFrom: ShareToken }

interface Decoded<A> {
  readonly origin: ShareToken
  readonly bytes: number
  readonly record: A
  readonly row?: Row
}

const rowsOf = (rows: ReadonlyArray<Row>): Rows => {
  const stored = rows.map(routesTable.byColumn)
  return { columns: Object.keys(stored[0] ?? {}), json: new TextEncoder().encode(JSON.stringify(stored)) }
}

const listJob = <A>(
  file: ListName,
  decode: (text: Buffer) => Result.Result<Decoded<A>, ReadonlyArray<ValidationIssue>>
): ListJob<A> => ({
  job: new HeavyJob(import.meta.url, {
    name: `read ${file}`,
    share: ARCHIVES,
    run: ({ bytes, ends, first }: Elements) => {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      const issues: Array<ValidationIssue> = []
      const storable: Array<Storable> = []
      const records: Array<A> = []
      const rows: Array<Row> = []
      for (const [index, end] of ends.entries()) {
        const line = first + index
        const outcome = outcomeAt(`${file}:${line}`, decode(text.subarray(ends[index - 1] ?? 0, end)))
        if ("issues" in outcome) {
          issues.push(...outcome.issues)
          continue
        }
        const { bytes: size, origin, record, row } = outcome.value
        storable.push({ line, origin, bytes: size })
        records.push(record)
        if (row !== undefined) rows.push(row)
      }
      const batch: Batch<A> = { records, rows: rowsOf(rows) }
      return { issues, storable, batch: serialize(batch) }
    },
    transferred: ({ batch }) => [batch.buffer]
  }),
  batchIn: (bytes) => deserialize(bytes)
})

const readRoute = readerWithLine(decodeBounded(ArchivedRoute))

const withCuesOnLine = (route: WithLine<ArchivedRoute>) => {
  const index = cueBeyond(route.rest.cues, route.line?.positionCount ?? 0)
  const message = "Expected the index of a position of the geometry"
  return index === undefined
    ? Result.succeed(route)
    : Result.fail([{ path: `cues.${index}.begin_shape_index`, message }])
}

export const readRoutes = listJob(
  "routes.json",
  (text) =>
    Result.map(
      Result.flatMap(Result.flatMap(readRoute(text), withSegmentsOnLine), withCuesOnLine),
      ({ line, rest }): Decoded<ImportedRoute> => ({
        origin: rest.origin,
        bytes: storedBytes(rest, line),
        record: {
          ...Struct.pick(rest, OF_RECORD),
          start: startOf(line, rest.waypoints),
          digest: routeDigest({ ...rest, geometry: line })
        },
        row: { ...valuesWithoutPlace(rest, line ?? null), importedFrom: rest.origin }
      })
    )
)

const readCollection = decodeBounded(ArchivedCollection)

export const readCollections = listJob(
  "collections.json",
  (text) =>
    Result.map(readCollection(text), (record): Decoded<ArchivedCollection> => ({
      origin: record.origin,
      bytes: 0,
      record
    }))
)

const EXPECTED_FILES = [PROFILE, ...Object.keys(LISTS)]

export const READ_FILES = [MANIFEST, ...EXPECTED_FILES]

interface GivenManifest {
  readonly bytes: ArrayBuffer
  readonly names: ReadonlyArray<string>
  readonly sizes: ReadonlyArray<number>
}

interface FittingManifest {
  readonly counts: Manifest["counts"]
  readonly digests: ReadonlyMap<string, string>
}

const problemOf = (sizes: ReadonlyMap<string, number>, { name, size }: ArchivedFile) => {
  const actual = sizes.get(name)
  if (actual === undefined) return "Expected the file, which the manifest names"
  return actual === size ? undefined : `Expected ${size} bytes, as the manifest says`
}

const issuesWith = (sizes: ReadonlyMap<string, number>, manifest: Manifest): ReadonlyArray<ValidationIssue> => {
  const named = new Set([MANIFEST, ...manifest.files.map(({ name }) => name)])
  if (named.size !== manifest.files.length + 1) {
    return [{ path: `${MANIFEST}.files`, message: "Expected each file once" }]
  }
  const issues = [
    ...EXPECTED_FILES.filter((name) => !named.has(name))
      .map((path) => ({ path, message: "Expected the manifest to name it" })),
    ...[...sizes.keys()].filter((name) => !named.has(name))
      .map((path) => ({ path, message: "Expected only files that the manifest names" })),
    ...manifest.files.map((file) => ({ path: file.name, message: problemOf(sizes, file) }))
  ]
  return issues.flatMap(({ message, path }) => message === undefined ? [] : [{ path, message }]).slice(0, MAX_ISSUES)
}

const decodeManifest = fileDecoder(MANIFEST, Manifest)

/** Compares the manifest with the archive's files: a file may be missing, unexpected, or of another size. */
export const readManifest = new HeavyJob<GivenManifest, Outcome<FittingManifest>>(import.meta.url, {
  name: "read manifest",
  share: ARCHIVES,
  run: ({ bytes, names, sizes }) => {
    const decoded = decodeManifest(bytes)
    if ("issues" in decoded) return decoded
    const { counts, files } = decoded.value
    const issues = issuesWith(new Map(names.map((name, index) => [name, sizes[index] ?? 0])), decoded.value)
    if (issues.length > 0) return { issues }
    const read = files.filter(({ name }) => READ_FILES.includes(name))
    return { value: { counts, digests: new Map(read.map(({ name, sha256 }) => [name, sha256])) } }
  }
})
