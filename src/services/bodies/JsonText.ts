export type JsonPart = string | Uint8Array

/** The parts are in order. Long lines are copied once, when the parts are encoded; joining would copy them twice. */
export type JsonParts = ReadonlyArray<JsonPart>

export type Json = JsonPart | JsonParts

const isPart = (json: Json): json is JsonPart => typeof json === "string" || json instanceof Uint8Array

const CLOSE = "}"

/** Adds defined JSON members to an object that is not empty. Parsing them would be most of the work of a read. */
export const withMembers = (
  object: string,
  ...members: ReadonlyArray<readonly [name: string, json: Json | undefined]>
): JsonParts => {
  const parts: Array<JsonPart> = [object.slice(0, -CLOSE.length)]
  for (const [name, json] of members) {
    if (json === undefined) continue
    parts.push(`,"${name}":`)
    if (isPart(json)) parts.push(json)
    else parts.push(...json)
  }
  parts.push(CLOSE)
  return parts
}

const partText = (part: JsonPart): string =>
  typeof part === "string" ? part : Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString()

export const textOf = (json: Json): string => isPart(json) ? partText(json) : json.map(partText).join("")

export const partsOf = (json: Json): JsonParts => isPart(json) ? [json] : json

export const lengthOf = (json: Json): number =>
  isPart(json) ? json.length : json.reduce((length, part) => length + part.length, 0)

/** No character takes more bytes: if this much room is left behind a text, the text was written whole. */
const MOST_BYTES = 4

/** The room for parts has one spare byte for this many characters. */
const PLAIN = 32

/** Makes room for parts of this length, mostly of one-byte characters: counting takes twice as long as writing. */
const roomFor = (length: number): Buffer => Buffer.allocUnsafe(length + Math.ceil(length / PLAIN) + MOST_BYTES)

const hadRoom = (bytes: Buffer, end: number): boolean => bytes.length - end >= MOST_BYTES

const writePart = (bytes: Buffer, at: number, part: JsonPart): number => {
  if (typeof part === "string") return at + bytes.write(part, at)
  if (at + part.length > bytes.length) return bytes.length
  bytes.set(part, at)
  return at + part.length
}

/** Returns where the last part ends. Parts that do not fit are cut off. */
const writeTo = (bytes: Buffer, parts: JsonParts): number => parts.reduce((at, part) => writePart(bytes, at, part), 0)

export const encoded = (json: Json): Buffer => {
  if (isPart(json)) return Buffer.from(json)
  const bytes = roomFor(lengthOf(json))
  const end = writeTo(bytes, json)
  return hadRoom(bytes, end) ? bytes.subarray(0, end) : Buffer.from(textOf(json))
}

/** Shorter bytes are copied: a piece costs more than a copy, and keeps the buffer that it is a view of. */
const KEPT = 8 * 1024

/** Encoding 16 MiB at once would block other requests for more than 50 ms. */
const LONGEST = 1024 * 1024

/** Splits JSON into pieces of UTF-8, in order: long bytes stay as they are, the parts between are encoded. */
export function* piecesOf(parts: Iterable<JsonPart>): Generator<Uint8Array> {
  let between: Array<JsonPart> = []
  let length = 0
  for (const part of parts) {
    const piece = typeof part !== "string" && part.length >= KEPT ? part : undefined
    if (piece === undefined) {
      between.push(part)
      length += part.length
    }
    if (length > (piece === undefined ? LONGEST : 0)) {
      yield encoded(between)
      between = []
      length = 0
    }
    if (piece !== undefined) yield piece
  }
  if (length > 0) yield encoded(between)
}
