/**
 * JSON in parts, in order: the text of a long line is copied once, where the parts are encoded, and would be twice if they
 * were joined before.
 */
export type JsonParts = ReadonlyArray<string>

type Json = string | JsonParts

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

export const textOf = (parts: JsonParts): string => parts.join("")

export const encoded = (json: Json): Buffer => {
  if (typeof json === "string") return Buffer.from(json)
  const bytes = Buffer.allocUnsafe(json.reduce((length, part) => length + Buffer.byteLength(part), 0))
  json.reduce((at, part) => at + bytes.write(part, at), 0)
  return bytes
}
