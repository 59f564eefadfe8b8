/**
 * JSON in parts, in order: the text of a long line is copied once, where the parts are encoded, and would be twice if they
 * were joined before.
 */
export type JsonParts = ReadonlyArray<string>

export type Json = string | JsonParts

const CLOSE = "}"

/**
 * A JSON object that is not empty with more members, which are JSON text already: parsing and printing long ones again
 * would be most of the work of a read. Members that are undefined are left out.
 */
export const withMembers = (
  object: string,
  ...members: ReadonlyArray<readonly [name: string, json: Json | undefined]>
): JsonParts => {
  const parts = [object.slice(0, -CLOSE.length)]
  for (const [name, json] of members) {
    if (json === undefined) continue
    parts.push(`,"${name}":`)
    if (typeof json === "string") parts.push(json)
    else parts.push(...json)
  }
  parts.push(CLOSE)
  return parts
}

export const textOf = (json: Json): string => typeof json === "string" ? json : json.join("")

/** In characters. Up to there a text, which is written together with its headers, costs less than its bytes. */
const LONG = 16 * 1024

export const charactersOf = (parts: JsonParts): number => parts.reduce((count, part) => count + part.length, 0)

/** Whether it is to be sent as bytes (`encoded`). */
export const isLong = (json: Json): boolean => (typeof json === "string" ? json.length : charactersOf(json)) > LONG

/** No character takes more bytes: where there is as much room behind a text, all of it was written. */
const MOST_BYTES = 4

/** One in so many characters may take a byte more. */
const PLAIN = 32

/**
 * Room for a text of so many characters, of which most take one byte, as those of a long line do. To count its bytes takes
 * more than twice as long as to write them.
 */
export const roomFor = (characters: number): Buffer =>
  Buffer.allocUnsafe(characters + Math.ceil(characters / PLAIN) + MOST_BYTES)

/** Whether a text that ends there was written whole. */
export const hadRoom = (bytes: Buffer, end: number): boolean => bytes.length - end >= MOST_BYTES

export const exactRoom = (parts: JsonParts): Buffer =>
  Buffer.allocUnsafe(parts.reduce((length, part) => length + Buffer.byteLength(part), 0))

/** Returns where the next parts begin. */
export const writeTo = (bytes: Buffer, start: number, parts: JsonParts): number =>
  parts.reduce((at, part) => at + bytes.write(part, at), start)

export const encoded = (json: Json): Buffer => {
  if (typeof json === "string") return Buffer.from(json)
  const bytes = roomFor(charactersOf(json))
  const end = writeTo(bytes, 0, json)
  return hadRoom(bytes, end) ? bytes.subarray(0, end) : Buffer.from(textOf(json))
}
