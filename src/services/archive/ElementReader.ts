import { Schema } from "effect"

/** Fits a route of 100,000 positions, with its other members. */
const MAX_LINE = 10 * 1024 * 1024

const MAX_BATCH_LINES = 100
const MAX_BATCH_BYTES = 1024 * 1024

const LINE_FEED = 0x0a
const COMMA = 0x2c

/** The texts of consecutive lines, each of which ends at one of `ends`. `first` is the number of the first line, from 1. */
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
  while (start < end && isBlank(line[start])) start++
  while (end > start && isBlank(line[end - 1])) end--
  return line.subarray(start, end)
}

const batchOf = (first: number, lines: ReadonlyArray<Uint8Array>): Elements => {
  let end = 0
  return { first, bytes: Buffer.concat(lines), ends: lines.map(({ length }) => end += length) }
}

/**
 * The elements of a JSON array with one element per line, in batches of at most 100 and about 1 MiB (a longer element is
 * a batch of its own). Throws `BadLine` for any other line, and above `most` elements.
 * `JsonArray` of `effect/encoding` reads any layout, but calls `JSON.parse` on this thread and limits depth and size,
 * not the number of values: an element of 10 MiB would block the event loop and create millions of objects.
 */
export async function* elementsOf(chunks: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Elements> {
  const batch: Array<Uint8Array> = []
  let size = 0
  let count = 0
  let line = 0
  let closedAt = 0
  const refused = (message: string) => new BadLine({ line, message })
  for await (const whole of linesOf(chunks)) {
    line++
    const text = trimmed(whole)
    const bracket = text.length === 1 ? text.toString() : ""
    if (line === 1) {
      if (bracket !== "[") throw refused("Expected [ on a line of its own")
    } else if (closedAt > 0) {
      // At most one blank line, so that a file of line feeds costs nothing.
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
  if (closedAt === 0) throw refused("Expected ] on a line of its own")
  if (batch.length > 0) yield batchOf(closedAt - batch.length, batch)
}
