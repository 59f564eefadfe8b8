import { isLatitude, isLongitude, MAX_POSITIONS, type Position } from "../../schema/Geometry.ts"
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY } from "../bodies/JsonScanner.ts"
import type { ParsedPolyline } from "./MeasuredPolyline.ts"

const MINUS = 0x2d
const POINT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/** Below 10 ** 15 each decimal is the shortest text of its number, and its digits are an exact integer. */
const MANTISSA_LIMIT = 1e15

const LEAST = 1e-6

/** A mantissa below the limit with more places is less than `LEAST`. */
const POWERS = Float64Array.from({ length: 21 }, (_, exponent) => 10 ** exponent)

export interface ScannedPositions {
  readonly line: ParsedPolyline
  readonly end: number
  readonly values: number
}

/** The arrays are reused: new ones for each of many lines would be mostly garbage outside of the heap. */
const scratch = {
  lngs: new Float64Array(MAX_POSITIONS),
  lats: new Float64Array(MAX_POSITIONS),
  elevations: new Float64Array(MAX_POSITIONS),
  starts: new Uint32Array(MAX_POSITIONS)
}

/** All numbers share one instance, so that none is an object. */
class NumberReader {
  value = Number.NaN
  private mantissa = Number.NaN
  private readonly text: Buffer

  constructor(text: Buffer) {
    this.text = text
  }

  /** Returns the index after the number; -1, where no text is, for text that `JSON.stringify` does not write. */
  read(from: number): number {
    const { text } = this
    const isNegative = text[from] === MINUS
    const start = isNegative ? from + 1 : from
    this.mantissa = 0
    let end = this.#readDigits(start)
    if (end === start || (text[start] === DIGIT_0 && end > start + 1)) return -1
    let places = 0
    if (text[end] === POINT) {
      const first = end + 1
      end = this.#readDigits(first)
      places = end - first
      if (places === 0 || text[end - 1] === DIGIT_0) return -1
    }
    if (this.mantissa >= MANTISSA_LIMIT) return this.#readAsText(from, end)
    // The result is the nearest double: both numbers are exact, and a division is rounded once.
    const value = this.mantissa / (POWERS[places] ?? Infinity)
    if (value < LEAST && (isNegative || this.mantissa !== 0)) return -1
    this.value = isNegative ? -value : value
    return end
  }

  /** Appends the digits to the mantissa, and returns the index after them. */
  #readDigits(from: number): number {
    const { text } = this
    let { mantissa } = this
    let at = from
    for (let byte = text[at]; byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9; byte = text[++at]) {
      mantissa = mantissa * 10 + byte - DIGIT_0
    }
    this.mantissa = mantissa
    return at
  }

  /** Reads 16 or 17 digits, which results of calculations have. */
  #readAsText(from: number, end: number): number {
    const digits = this.text.toString("latin1", from, end)
    this.value = Number(digits)
    return String(this.value) === digits ? end : -1
  }
}

/**
 * Reads positions into numbers, without an object for each. Returns undefined for text that `JSON.stringify` does not
 * write, such as white space or digits without effect: a text that is read is its own normal form.
 */
export const scanPositions = (text: Buffer, from: number): ScannedPositions | undefined => {
  if (text[from] !== OPEN_ARRAY) return undefined
  const { elevations, lats, lngs, starts } = scratch
  const numbers = new NumberReader(text)
  let count = 0
  let elevated = 0
  let first: Position | undefined
  let at = from + 1
  if (text[at] === CLOSE_ARRAY) return undefined
  for (;;) {
    if (count === MAX_POSITIONS || text[at] !== OPEN_ARRAY) return undefined
    starts[count] = at - from
    at = numbers.read(at + 1)
    const lng = numbers.value
    if (!isLongitude(lng) || text[at] !== COMMA) return undefined
    at = numbers.read(at + 1)
    const lat = numbers.value
    if (!isLatitude(lat)) return undefined
    lngs[count] = lng
    lats[count] = lat
    const hasElevation = text[at] === COMMA
    if (hasElevation) {
      elevated++
      at = numbers.read(at + 1)
    }
    elevations[count] = hasElevation ? numbers.value : Number.NaN
    first ??= hasElevation ? [lng, lat, numbers.value] : [lng, lat]
    if (text[at] !== CLOSE_ARRAY) return undefined
    count++
    at++
    const next = text[at]
    at++
    if (next === CLOSE_ARRAY) break
    if (next !== COMMA) return undefined
  }
  const ownStarts = starts.slice(0, count)
  const json = text.toString("latin1", from, at)
  return {
    end: at,
    values: 3 * count + elevated,
    line: {
      coordinates: { lngs: lngs.slice(0, count), lats: lats.slice(0, count) },
      json,
      elevations: elevated === 0 ? undefined : elevations.slice(0, count),
      start: first,
      textAt: (index) => json.slice(ownStarts[index], json.indexOf("]", ownStarts[index]) + 1)
    }
  }
}
