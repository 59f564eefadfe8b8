import { POLYLINE_PRECISION } from "../../schema/Geometry.ts"
import type { Coordinates } from "./Geodesy.ts"

const FACTOR = 10 ** POLYLINE_PRECISION

/** A character has 5 bits; twice 360 degrees with six decimals have 30. */
const MAX_CHARACTERS = 6

const BITS = 5
const CONTINUED = 0x20
const MASK = 0x1f
const FIRST_CHARACTER = 63

const LAST_CHARACTER = 0x7e
const MAX_DIFFERENCE_BITS = MAX_CHARACTERS * BITS

/** Rounds half away from zero, as Google's encoder does. */
const rounded = (value: number) => value < 0 ? -Math.floor(0.5 - value) : Math.floor(value + 0.5)

const write = (into: Uint8Array, start: number, difference: number): number => {
  let rest = difference < 0 ? -2 * difference - 1 : 2 * difference
  let index = start
  while (rest >= CONTINUED) {
    into[index++] = (CONTINUED | (rest & MASK)) + FIRST_CHARACTER
    rest >>>= BITS
  }
  into[index] = rest + FIRST_CHARACTER
  return index + 1
}

/** Encodes in Google's format. */
export const encodePolyline = (
  { lats, lngs }: { readonly lats: ArrayLike<number>; readonly lngs: ArrayLike<number> },
  factor = FACTOR
): string => {
  const bytes = Buffer.allocUnsafe(lngs.length * 2 * MAX_CHARACTERS)
  let end = 0
  let lastLat = 0
  let lastLng = 0
  for (let index = 0; index < lngs.length; index++) {
    const lat = rounded((lats[index] ?? 0) * factor)
    const lng = rounded((lngs[index] ?? 0) * factor)
    end = write(bytes, write(bytes, end, lat - lastLat), lng - lastLng)
    lastLat = lat
    lastLng = lng
  }
  return bytes.toString("latin1", 0, end)
}

/** Each number ends with a character below "_". */
const numberCount = (encoded: string): number => {
  let numbers = 0
  for (let index = 0; index < encoded.length; index++) {
    if (encoded.charCodeAt(index) < FIRST_CHARACTER + CONTINUED) numbers++
  }
  return numbers
}

export const positionCount = (encoded: string): number => numberCount(encoded) / 2

const differencesOf = (encoded: string): Int32Array | undefined => {
  const differences = new Int32Array(numberCount(encoded))
  let count = 0
  let value = 0
  let shift = 0
  for (let index = 0; index < encoded.length; index++) {
    const code = encoded.charCodeAt(index)
    if (code < FIRST_CHARACTER || code > LAST_CHARACTER || shift === MAX_DIFFERENCE_BITS) return undefined
    const bits = code - FIRST_CHARACTER
    value |= (bits & MASK) << shift
    shift += BITS
    if (bits >= CONTINUED) continue
    differences[count++] = (value & 1) === 1 ? ~(value >>> 1) : value >>> 1
    value = 0
    shift = 0
  }
  return shift === 0 && count % 2 === 0 ? differences : undefined
}

/** Returns undefined for an invalid polyline. Encoding the result again gives the same text. */
export const decodePolyline = (encoded: string): Coordinates | undefined => {
  const differences = differencesOf(encoded)
  if (differences === undefined) return undefined
  const lats = new Float64Array(differences.length / 2)
  const lngs = new Float64Array(lats.length)
  let lat = 0
  let lng = 0
  for (let index = 0; index < lats.length; index++) {
    lat += differences[2 * index] ?? 0
    lng += differences[2 * index + 1] ?? 0
    lats[index] = lat / FACTOR
    lngs[index] = lng / FACTOR
  }
  return { lats, lngs }
}
