import type { Coordinates } from "./Coordinates.ts"

/** A value takes 5 bits a character, and one of twice 360 degrees with six decimals has 30. */
const MAX_CHARACTERS = 6

const BITS = 5
const CONTINUED = 0x20
const MASK = 0x1f
const FIRST_CHARACTER = 63

/** Halves are rounded away from zero, as in Google's own encoder. */
const rounded = (value: number) => value < 0 ? -Math.floor(0.5 - value) : Math.floor(value + 0.5)

/** Writes a difference and returns the index behind it. */
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

/**
 * Google's encoded polyline algorithm, as `@mapbox/polyline` has it, without an object or a text for each position: a long
 * line takes a fifth of the time. `factor` is a power of ten, 1,000,000 at most.
 */
export const encodePolyline = ({ lats, lngs }: Coordinates, factor: number): string => {
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
