import { FitEncoder } from "fit-file-parser/encoder"
import { type Dropped, MAX_FILES } from "../../schema/Import.ts"
import { isFit } from "./PackedFile.ts"

/** Other readers pass over this number, which is for messages of manufacturers (FIT protocol, `mesg_num`). */
export const SHAPING_POINT = 0xff00

/**
 * The message has the length of the line, the distance and the elevation gain of the route in centimetres, and its
 * duration in milliseconds; a field that needs more than 32 bits is coarser (`FitWriter.ts`).
 */
export const OWN_MEASURES = 0xff01

/** The message is a cue, whose instruction starts in a course point: type, index, and measures as above. */
export const OWN_CUE = 0xff02

/** 180 degrees are this many. */
export const SEMICIRCLES = 2 ** 31

/** A day with a record a second has 86,400. The parser took 3.8 s for 4,000,000 messages without a field. */
export const MAX_MESSAGES = 200_000

/** All messages together have at most this many fields. A record of a watch has about 15; with 24 a day is too long. */
export const MAX_FIELDS = 2_000_000

/** Files that follow each other share this room. */
export interface FitRoom {
  messages: number
  fields: number
}

export const roomOfFit = (): FitRoom => ({ messages: MAX_MESSAGES, fields: MAX_FIELDS })

interface Definition {
  readonly bytes: number
  readonly fields: number
  readonly texts: ReadonlyArray<readonly [start: number, size: number]>
}

const FIELD_BYTES = 3
const STRING_TYPE = 7
const BASE_TYPE = 0x1f

const byteAt = (bytes: Uint8Array, index: number) => bytes[index] ?? 0

const definitionAt = (bytes: Uint8Array, start: number, hasDeveloperFields: boolean) => {
  const texts: Array<readonly [number, number]> = []
  const sum = { bytes: 0, fields: 0, end: start }
  const add = (at: number, hasTypes: boolean) => {
    const count = byteAt(bytes, at)
    for (let n = 0; n < count; n++) {
      const size = byteAt(bytes, at + 2 + n * FIELD_BYTES)
      const type = byteAt(bytes, at + 3 + n * FIELD_BYTES) & BASE_TYPE
      if (hasTypes && type === STRING_TYPE) texts.push([sum.bytes, size])
      sum.bytes += size
    }
    sum.fields += count
    sum.end = at + 1 + count * FIELD_BYTES
  }
  add(start + 5, true)
  if (hasDeveloperFields) add(sum.end, false)
  return { ...sum, texts }
}

/** A string ends at its first NUL; the parser reads on behind it. */
const endText = (bytes: Uint8Array, start: number, size: number): void => {
  const field = bytes.subarray(start, start + size)
  const end = field.indexOf(0)
  if (end !== -1) field.fill(0, end)
}

interface Walk {
  readonly end: number
  readonly isTooLong: boolean
}

/** Reads headers alone, before decoding (FIT protocol, record format), up to the first message that is not whole. */
const walk = (bytes: Uint8Array, from: number, to: number, room: FitRoom): Walk => {
  const definitions = new Map<number, Definition>()
  let at = from
  while (at < to) {
    const header = byteAt(bytes, at)
    const isCompressed = (header & 0x80) !== 0
    let end = at
    if (!isCompressed && (header & 0x40) !== 0) {
      const definition = definitionAt(bytes, at, (header & 0x20) !== 0)
      if (definition.end > to) break
      definitions.set(header & 0x0f, definition)
      end = definition.end
    } else {
      // Bit 5 belongs to definitions and bit 4 is reserved: in data they are damage.
      if (!isCompressed && (header & 0x30) !== 0) break
      const definition = definitions.get(isCompressed ? (header >> 5) & 0x03 : header & 0x0f)
      if (definition === undefined) break
      end = at + 1 + definition.bytes
      if (end > to) break
      for (const [start, size] of definition.texts) endText(bytes, at + 1 + start, size)
      room.fields -= definition.fields
    }
    at = end
    room.messages -= 1
    if (room.messages < 0 || room.fields < 0) return { end, isTooLong: true }
  }
  return { end: at, isTooLong: false }
}

const CRC_BYTES = 2
const SIZE_AT = 4

/** Splits files that follow each other (FIT protocol, chained files); the last has all that is left. */
export const chainedFiles = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const files: Array<Uint8Array> = []
  let start = 0
  while (files.length < MAX_FILES) {
    const size = view.getUint32(start + SIZE_AT, true)
    const end = start + view.getUint8(start) + size + CRC_BYTES
    if (size === 0 || !isFit(bytes.subarray(end))) break
    files.push(bytes.subarray(start, end))
    start = end
  }
  return [...files, bytes.subarray(start)]
}

const what = "FIT file"
const CHECKSUM = "its checksum is wrong or missing, what could be read is kept"
const NOT_CLOSED = "it was not closed, what could be read is kept"
const CUT_OFF = "it ends early or is damaged, what could be read is kept"

/** Makes a file of whole messages, with its size and texts that end at their NUL. Says what was wrong with it. */
export const wholeFit = (
  given: Uint8Array,
  room: FitRoom
): { readonly bytes: Uint8Array; readonly isTooLong: boolean; readonly dropped: ReadonlyArray<Dropped> } => {
  const bytes = Uint8Array.from(given)
  const view = new DataView(bytes.buffer)
  const headerSize = view.getUint8(0)
  const size = view.getUint32(SIZE_AT, true)
  const stated = headerSize + size
  const isClosed = size > 0
  const isWhole = stated <= bytes.length
  const { end, isTooLong } = walk(bytes, headerSize, isClosed && isWhole ? stated : bytes.length, room)
  view.setUint32(SIZE_AT, end - headerSize, true)
  const problem = () => {
    if (!isClosed) return NOT_CLOSED
    if (!isWhole || end < stated) return CUT_OFF
    const hasChecksum = stated + CRC_BYTES <= given.length && isChecked(given, stated)
    return hasChecksum ? undefined : CHECKSUM
  }
  const why = isTooLong ? undefined : problem()
  return { bytes, isTooLong, dropped: why === undefined ? [] : [{ what, why, count: 1 }] }
}

const isChecked = (bytes: Uint8Array, end: number): boolean =>
  FitEncoder.calculateCRC(bytes.subarray(0, end)) === new DataView(bytes.buffer, bytes.byteOffset).getUint16(end, true)
