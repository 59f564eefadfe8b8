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

/** Whether it is to be sent as bytes (`encoded`). */
export const isLong = (json: Json): boolean =>
  (typeof json === "string" ? json.length : json.reduce((length, part) => length + part.length, 0)) > LONG

export const lengthOf = (parts: JsonParts): number =>
  parts.reduce((length, part) => length + Buffer.byteLength(part), 0)

/** Returns where the next parts begin. */
export const writeTo = (bytes: Buffer, start: number, parts: JsonParts): number =>
  parts.reduce((at, part) => at + bytes.write(part, at), start)

export const encoded = (json: Json): Buffer => {
  if (typeof json === "string") return Buffer.from(json)
  const bytes = Buffer.allocUnsafe(lengthOf(json))
  return bytes.subarray(0, writeTo(bytes, 0, json))
}
