import { isUtf8 } from "node:buffer"

/** The text of a route of 100,000 positions fits, all that may stand beside them, and the padding of an export. */
const MAX_LINE = 10 * 1024 * 1024

const MAX_BATCH_LINES = 100
const MAX_BATCH_BYTES = 1024 * 1024

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
  readonly json: Uint8Array
}

/** A file that is no such array. */
export class BadLine extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/** The bytes of what `trim` leaves of a text: as a text only where its ends are not ASCII. */
const trimmed = (text: Uint8Array): Uint8Array => {
  let start = 0
  let end = text.length
  while (start < end && SPACES.has(text[start])) start++
  while (end > start && SPACES.has(text[end - 1])) end--
  const inside = text.subarray(start, end)
  const isAscii = Math.max(inside[0] ?? 0, inside.at(-1) ?? 0) <= MAX_ASCII
  return isAscii ? inside : Buffer.from(Buffer.from(inside).toString().trim())
}

const isOnly = ({ json }: Element, byte: number) => json.length === 1 && json[0] === byte

/** Makes lines of the pieces of a file. */
class LineCutter {
  private line = 1
  private length = 0
  private parts: Array<Uint8Array> = []

  /** What is left behind the last line feed. */
  take(): Element {
    const [only = new Uint8Array()] = this.parts
    const text = this.parts.length > 1 ? Buffer.concat(this.parts) : only
    const line = this.line++
    this.parts = []
    this.length = 0
    if (!isUtf8(text)) throw new BadLine(line, "Expected valid UTF-8")
    return { line, json: trimmed(text) }
  }

  /** The lines that end in this piece. */
  *push(chunk: Uint8Array): Generator<Element> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.add(chunk.subarray(start, end))
      start = end + 1
      yield this.take()
    }
    this.add(chunk.subarray(start))
  }

  private add(part: Uint8Array) {
    this.parts.push(part)
    this.length += part.length
    if (this.length > MAX_LINE) throw new BadLine(this.line, `Expected a line of at most ${MAX_LINE} bytes`)
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
  isElement(element: Element): boolean {
    const { json, line } = element
    switch (this.state) {
      case "before":
        if (!isOnly(element, OPEN_ARRAY)) throw new BadLine(line, "Expected [ on a line of its own")
        this.state = "inside"
        return false
      case "inside":
        if (json.length === 0 || isOnly(element, OPEN_ARRAY)) throw new BadLine(line, "Expected an element")
        if (isOnly(element, CLOSE_ARRAY)) {
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
 * The elements in batches of at most 100 and, but for a longer single one, about 1 MiB. Throws a `BadLine` at the first
 * line that is none, so that no file is read to its end that could not be taken: nothing stands between the elements, and
 * there are no more of them than `most`.
 */
export async function* elementsOf(
  chunks: AsyncIterable<Uint8Array>,
  most: number
): AsyncGenerator<ReadonlyArray<Element>> {
  const cutter = new LineCutter()
  const counter = new ElementCounter(most)
  let batch: Array<Element> = []
  let length = 0
  for await (const chunk of chunks) {
    for (const { json, line } of cutter.push(chunk)) {
      if (!counter.isElement({ json, line })) continue
      batch.push({ line, json: json.at(-1) === COMMA ? json.subarray(0, -1) : json })
      length += json.length
      if (batch.length < MAX_BATCH_LINES && length < MAX_BATCH_BYTES) continue
      yield batch
      batch = []
      length = 0
    }
  }
  const rest = cutter.take()
  if (counter.isElement(rest) || !counter.isClosed) throw new BadLine(rest.line, "Expected ] on a line of its own")
  if (batch.length > 0) yield batch
}
