/** JSON, or a part of it, as text or in UTF-8. */
export type JsonPart = string | Uint8Array

/**
 * JSON in parts, in order: the text of a long line is copied once, where the parts are encoded, and would be twice if they
 * were joined before.
 */
export type JsonParts = ReadonlyArray<JsonPart>

export type Json = JsonPart | JsonParts

const isPart = (json: Json): json is JsonPart => typeof json === "string" || json instanceof Uint8Array

const CLOSE = "}"

/**
 * A JSON object that is not empty with more members, which are JSON text already: parsing and printing long ones again
 * would be most of the work of a read. Members that are undefined are left out.
 */
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

/** Up to there a text, which is written together with its headers, costs less than its bytes. */
const LONG = 16 * 1024

/** Its characters, and the bytes of what is UTF-8 already. */
export const lengthOf = (parts: JsonParts): number => parts.reduce((length, part) => length + part.length, 0)

/** Whether it is to be sent as bytes (`encoded`). */
export const isLong = (json: Json): boolean => (isPart(json) ? json.length : lengthOf(json)) > LONG

/** No character takes more bytes: where there is as much room behind a text, all of it was written. */
const MOST_BYTES = 4

/** One in so many characters may take a byte more. */
const PLAIN = 32

/**
 * Room for parts of such a length, of whose characters most take one byte, as those of a long line do. To count their bytes
 * takes more than twice as long as to write them.
 */
export const roomFor = (length: number): Buffer => Buffer.allocUnsafe(length + Math.ceil(length / PLAIN) + MOST_BYTES)

/** Whether a text that ends there was written whole. */
export const hadRoom = (bytes: Buffer, end: number): boolean => bytes.length - end >= MOST_BYTES

export const exactRoom = (parts: JsonParts): Buffer =>
  Buffer.allocUnsafe(parts.reduce((length, part) => length + Buffer.byteLength(part), 0))

const writePart = (bytes: Buffer, at: number, part: JsonPart): number => {
  if (typeof part === "string") return at + bytes.write(part, at)
  if (at + part.length > bytes.length) return bytes.length
  bytes.set(part, at)
  return at + part.length
}

/** Returns where the next parts begin. What has no room is cut off. */
export const writeTo = (bytes: Buffer, start: number, parts: JsonParts): number =>
  parts.reduce((at, part) => writePart(bytes, at, part), start)

export const encoded = (json: Json): Buffer => {
  if (isPart(json)) return Buffer.from(json)
  const bytes = roomFor(lengthOf(json))
  const end = writeTo(bytes, 0, json)
  return hadRoom(bytes, end) ? bytes.subarray(0, end) : Buffer.from(textOf(json))
}
