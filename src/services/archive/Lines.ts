/** Longer than the text of any route: 100,000 positions and all that may stand beside them. */
const MAX_LINE = 16 * 1024 * 1024

const MAX_BATCH_LINES = 100
const MAX_BATCH_BYTES = 1024 * 1024

const LINE_FEED = 10

/** An element of a JSON array that is written one element a line, and the number of its line, from 1. */
export interface Element {
  readonly line: number
  readonly json: string
}

/** A file that is no such array. */
export class BadLine extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Element> {
  const utf8 = new TextDecoder("utf-8", { fatal: true })
  let line = 1
  let parts: Array<Uint8Array> = []
  let length = 0
  const add = (part: Uint8Array) => {
    parts.push(part)
    length += part.length
    if (length > MAX_LINE) throw new BadLine(line, `Expected a line of at most ${MAX_LINE} bytes`)
  }
  const take = (): Element => {
    try {
      return { line, json: utf8.decode(Buffer.concat(parts)) }
    } catch {
      throw new BadLine(line, "Expected valid UTF-8")
    } finally {
      line++
      parts = []
      length = 0
    }
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

const isBracket = (text: string) => text === "" || text === "[" || text === "]"

/** The elements in batches of at most 100 and, but for a longer single one, about 1 MiB. Throws a `BadLine`. */
export async function* elementsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadonlyArray<Element>> {
  let batch: Array<Element> = []
  let length = 0
  for await (const { json, line } of linesOf(chunks)) {
    const text = json.trim()
    if (isBracket(text)) continue
    batch.push({ line, json: text.endsWith(",") ? text.slice(0, -1) : text })
    length += text.length
    if (batch.length < MAX_BATCH_LINES && length < MAX_BATCH_BYTES) continue
    yield batch
    batch = []
    length = 0
  }
  if (batch.length > 0) yield batch
}
