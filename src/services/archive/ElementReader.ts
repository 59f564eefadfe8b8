import { Schema } from "effect"
import { isUtf8 } from "node:buffer"
import { NOT_UTF8 } from "../../schema/Issues.ts"

/** Fits a route of 100,000 positions, with its other members. */
const MAX_LINE = 10 * 1024 * 1024

const MAX_BATCH_LINES = 100
const MAX_BATCH_BYTES = 1024 * 1024

const BUFFER_BYTES = MAX_BATCH_BYTES + 256 * 1024

const LINE_FEED = 0x0a
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

const SPACES: ReadonlySet<number | undefined> = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20])

const MAX_ASCII = 0x7f

/** One line, numbered from 1, of a JSON array with one element per line, in UTF-8. */
export interface Element {
  readonly line: number
  readonly json: Uint8Array<ArrayBuffer>
}

export class BadLine extends Schema.TaggedError<BadLine>()("BadLine", {
  line: Schema.Int,
  message: Schema.String
}) {}

interface Line {
  readonly line: number
  readonly start: number
  readonly end: number
}

const widthOf = (text: string) => Buffer.byteLength(text)

/** Like `trim`, on bytes: decodes the text only where its ends are not ASCII. */
const trimmed = (bytes: Uint8Array): readonly [start: number, end: number] => {
  const ends = { start: 0, end: bytes.length }
  while (ends.start < ends.end && SPACES.has(bytes[ends.start])) ends.start++
  while (ends.end > ends.start && SPACES.has(bytes[ends.end - 1])) ends.end--
  const { end, start } = ends
  if (Math.max(bytes[start] ?? 0, bytes[end - 1] ?? 0) <= MAX_ASCII) return [start, end]
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString()
  const first = start + widthOf(text) - widthOf(text.trimStart())
  return [first, first + widthOf(text.trim())]
}

const isOnly = (json: Uint8Array, byte: number) => json.length === 1 && json[0] === byte

class LineCutter {
  private line = 1
  private bytes = new Uint8Array()
  private start = 0
  private end = 0

  get length() {
    return this.end
  }

  /** Valid until the next line is read. */
  textOf({ end, start }: Line): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(start, end)
  }

  /** Transfers the buffer of the lines so far; later lines use another. */
  takeBuffer(): ArrayBuffer {
    const { buffer } = this.bytes
    this.bytes = new Uint8Array()
    this.start = 0
    this.end = 0
    return buffer
  }

  take(): Line {
    const { start } = this
    const text = this.bytes.subarray(start, this.end)
    const line = this.line++
    this.start = this.end
    if (!isUtf8(text)) throw new BadLine({ line: line, message: NOT_UTF8 })
    const [first, end] = trimmed(text)
    return { line, start: start + first, end: start + end }
  }

  *push(chunk: Uint8Array): Generator<Line> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.add(chunk.subarray(start, end))
      start = end + 1
      yield this.take()
    }
    this.add(chunk.subarray(start))
  }

  private add(part: Uint8Array) {
    const length = this.end + part.length
    if (length - this.start > MAX_LINE) {
      throw new BadLine({ line: this.line, message: `Expected a line of at most ${MAX_LINE} bytes` })
    }
    if (length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(BUFFER_BYTES, 2 * this.bytes.length, length))
      larger.set(this.bytes.subarray(0, this.end))
      this.bytes = larger
    }
    this.bytes.set(part, this.end)
    this.end = length
  }
}

class ElementCounter {
  private readonly most: number
  private count = 0
  private state: "before" | "inside" | "after" | "over" = "before"

  constructor(most: number) {
    this.most = most
  }

  get isClosed() {
    return this.state === "after" || this.state === "over"
  }

  isElement({ json, line }: Element): boolean {
    switch (this.state) {
      case "before":
        if (!isOnly(json, OPEN_ARRAY)) throw new BadLine({ line: line, message: "Expected [ on a line of its own" })
        this.state = "inside"
        return false
      case "inside":
        if (json.length === 0 || isOnly(json, OPEN_ARRAY)) {
          throw new BadLine({ line: line, message: "Expected an element" })
        }
        if (isOnly(json, CLOSE_ARRAY)) {
          this.state = "after"
          return false
        }
        if (++this.count > this.most) {
          throw new BadLine({ line: line, message: `Expected ${this.most} elements, as the manifest says` })
        }
        return true
      case "after":
        if (json.length > 0) throw new BadLine({ line: line, message: "Expected nothing after the array" })
        this.state = "over"
        return false
      case "over":
        throw new BadLine({ line: line, message: "Expected nothing after the array" })
    }
  }
}

/**
 * Elements in batches of at most 100 and about 1 MiB (a longer element is a batch of its own). Each batch has its own
 * buffer, which may be transferred to a thread. Throws `BadLine` for any other line, and above `most` elements.
 * `JsonArray` of `effect/encoding` reads any layout, but calls `JSON.parse` on this thread and limits depth and size,
 * not the number of values: an element of 10 MiB would block the event loop and create millions of objects.
 */
export async function* elementsOf(
  chunks: AsyncIterable<Uint8Array>,
  most: number
): AsyncGenerator<ReadonlyArray<Element>> {
  const cutter = new LineCutter()
  const counter = new ElementCounter(most)
  const lines: Array<Line> = []
  const isElement = (line: Line) => counter.isElement({ line: line.line, json: cutter.textOf(line) })
  const takeBatch = () => {
    const buffer = cutter.takeBuffer()
    return lines.splice(0).map(({ end, line, start }): Element => {
      const json = new Uint8Array(buffer, start, end - start)
      return { line, json: json.at(-1) === COMMA ? json.subarray(0, -1) : json }
    })
  }
  for await (const chunk of chunks) {
    for (const line of cutter.push(chunk)) {
      if (!isElement(line)) continue
      lines.push(line)
      if (lines.length === MAX_BATCH_LINES || cutter.length >= MAX_BATCH_BYTES) yield takeBatch()
    }
  }
  const rest = cutter.take()
  if (isElement(rest) || !counter.isClosed) {
    throw new BadLine({ line: rest.line, message: "Expected ] on a line of its own" })
  }
  if (lines.length > 0) yield takeBatch()
}
