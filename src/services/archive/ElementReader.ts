import { isUtf8 } from "node:buffer"

/** The text of a route of 100,000 positions fits, all that may stand beside them, and the padding of an export. */
const MAX_LINE = 10 * 1024 * 1024

const MAX_BATCH_LINES = 100
const MAX_BATCH_BYTES = 1024 * 1024

/** Of a batch, with its last line where that is no longer than most. */
const BUFFER_BYTES = MAX_BATCH_BYTES + 256 * 1024

const LINE_FEED = 0x0a
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** What a text is trimmed of, of ASCII. */
const SPACES: ReadonlySet<number | undefined> = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20])

const MAX_ASCII = 0x7f

/** An element of a JSON array that is written one element a line, in UTF-8, and the number of its line, from 1. */
export interface Element {
  readonly line: number
  readonly json: Uint8Array<ArrayBuffer>
}

/** A file that is no such array. */
export class BadLine extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** A line of a buffer, without what `trim` takes. */
interface Line {
  readonly line: number
  readonly start: number
  readonly end: number
}

const widthOf = (text: string) => Buffer.byteLength(text)

/** What `trim` leaves of a text, as bytes: it is read as a text only where its ends are not ASCII. */
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

/** Makes lines of the pieces of a file, one behind the other in a buffer: each byte is copied once. */
class LineCutter {
  private line = 1
  private bytes = new Uint8Array()
  private start = 0
  private end = 0

  /** Bytes of the lines so far. */
  get length() {
    return this.end
  }

  /** What a line is, until the next one is read. */
  textOf({ end, start }: Line): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(start, end)
  }

  /** The buffer of the lines so far. Those that follow are in another. */
  takeBuffer(): ArrayBuffer {
    const { buffer } = this.bytes
    this.bytes = new Uint8Array()
    this.start = 0
    this.end = 0
    return buffer
  }

  /** What is left behind the last line feed. */
  take(): Line {
    const { start } = this
    const text = this.bytes.subarray(start, this.end)
    const line = this.line++
    this.start = this.end
    if (!isUtf8(text)) throw new BadLine(line, "Expected valid UTF-8")
    const [first, end] = trimmed(text)
    return { line, start: start + first, end: start + end }
  }

  /** The lines that end in this piece. */
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
    if (length - this.start > MAX_LINE) throw new BadLine(this.line, `Expected a line of at most ${MAX_LINE} bytes`)
    if (length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(BUFFER_BYTES, 2 * this.bytes.length, length))
      larger.set(this.bytes.subarray(0, this.end))
      this.bytes = larger
    }
    this.bytes.set(part, this.end)
    this.end = length
  }
}

/** Knows an array's elements from its brackets, and that they are no more than they should be. */
class ElementCounter {
  private readonly most: number
  private count = 0
  private state: "before" | "inside" | "behind" | "over" = "before"

  constructor(most: number) {
    this.most = most
  }

  get isClosed() {
    return this.state === "behind" || this.state === "over"
  }

  /** Whether this line is an element; throws a `BadLine` where it may not stand. */
  isElement({ json, line }: Element): boolean {
    switch (this.state) {
      case "before":
        if (!isOnly(json, OPEN_ARRAY)) throw new BadLine(line, "Expected [ on a line of its own")
        this.state = "inside"
        return false
      case "inside":
        if (json.length === 0 || isOnly(json, OPEN_ARRAY)) throw new BadLine(line, "Expected an element")
        if (isOnly(json, CLOSE_ARRAY)) {
          this.state = "behind"
          return false
        }
        if (++this.count > this.most) throw new BadLine(line, `Expected ${this.most} elements, as the manifest says`)
        return true
      case "behind":
        if (json.length > 0) throw new BadLine(line, "Expected nothing behind the array")
        this.state = "over"
        return false
      case "over":
        throw new BadLine(line, "Expected nothing behind the array")
    }
  }
}

/**
 * The elements in batches of at most 100 and, but for a longer single one, about 1 MiB. Those of a batch share a buffer that
 * is theirs alone, and so may be transferred to a thread. Throws a `BadLine` at the first line that is none: nothing stands
 * between the elements, and there are no more of them than `most`.
 *
 * `JsonArray` of `effect/encoding` would read arrays without a form of their own, but calls `JSON.parse` for each element in
 * the thread that reads the file, and bounds its depth and size, not its number of values: an element of 10 MiB would block
 * the event loop and be millions of objects.
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
  if (isElement(rest) || !counter.isClosed) throw new BadLine(rest.line, "Expected ] on a line of its own")
  if (lines.length > 0) yield takeBatch()
}
