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

const POWERS = Float64Array.from({ length: 16 }, (_, exponent) => 10 ** exponent)

const LEAST_POSITION_BYTES = 6

export interface ScannedPositions {
  readonly line: ParsedPolyline
  readonly end: number
  readonly values: number
}

/** The arrays are reused: new ones for each of many lines would be mostly garbage outside of the heap. */
const scratch = {
  lngs: new Float64Array(),
  lats: new Float64Array(),
  elevations: new Float64Array(),
  starts: new Uint32Array()
}

const scratchOf = (positions: number) => {
  if (scratch.lngs.length < positions) {
    scratch.lngs = new Float64Array(positions)
    scratch.lats = new Float64Array(positions)
    scratch.elevations = new Float64Array(positions)
    scratch.starts = new Uint32Array(positions)
  }
  return scratch
}

/** All numbers share one instance, so that none is an object. */
class NumberReader {
  value = 0
  private readonly text: Buffer

  constructor(text: Buffer) {
    this.text = text
  }

  /** Returns the index after the number; -1 for text that `JSON.stringify` does not write. */
  read(from: number): number {
    const { text } = this
    const isNegative = text[from] === MINUS
    const start = isNegative ? from + 1 : from
    let at = start
    let mantissa = 0
    let byte = text[at] ?? 0
    for (; byte >= DIGIT_0 && byte <= DIGIT_9; byte = text[++at] ?? 0) mantissa = mantissa * 10 + byte - DIGIT_0
    const whole = at - start
    if (whole === 0 || (whole > 1 && text[start] === DIGIT_0)) return -1
    let places = 0
    if (byte === POINT) {
      const point = at
      byte = text[++at] ?? 0
      for (; byte >= DIGIT_0 && byte <= DIGIT_9; byte = text[++at] ?? 0) mantissa = mantissa * 10 + byte - DIGIT_0
      places = at - point - 1
      if (places === 0 || text[at - 1] === DIGIT_0) return -1
    }
    if (mantissa >= MANTISSA_LIMIT || places >= POWERS.length) return this.#readAsText(from, at)
    // The result is the nearest double: both numbers are exact, and a division is rounded once.
    const value = mantissa / (POWERS[places] ?? 1)
    if (value < LEAST && (isNegative || mantissa !== 0)) return -1
    this.value = isNegative ? -value : value
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
  const most = Math.min(MAX_POSITIONS, Math.ceil((text.length - from) / LEAST_POSITION_BYTES))
  const { elevations, lats, lngs, starts } = scratchOf(most)
  const numbers = new NumberReader(text)
  let count = 0
  let elevated = 0
  let first: Position | undefined
  let at = from + 1
  if (text[at] === CLOSE_ARRAY) return undefined
  for (;;) {
    if (count === most || text[at] !== OPEN_ARRAY) return undefined
    starts[count] = at - from
    at = numbers.read(at + 1)
    const lng = numbers.value
    if (at === -1 || !isLongitude(lng) || text[at] !== COMMA) return undefined
    at = numbers.read(at + 1)
    const lat = numbers.value
    if (at === -1 || !isLatitude(lat)) return undefined
    lngs[count] = lng
    lats[count] = lat
    const hasElevation = text[at] === COMMA
    elevations[count] = Number.NaN
    if (hasElevation) {
      elevated++
      at = numbers.read(at + 1)
      if (at === -1) return undefined
      elevations[count] = numbers.value
    }
    if (count === 0) first = hasElevation ? [lng, lat, numbers.value] : [lng, lat]
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
      textAt: (index) => json.slice(ownStarts[index], (ownStarts[index + 1] ?? json.length) - 1)
    }
  }
}
