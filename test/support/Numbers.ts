import * as fc from "fast-check"

const STEPS = 2 ** 30

/** Generates numbers of the whole range alike, and some doubles of fast-check, which are nearly all very close to zero. */
export const numbers = (min: number, max: number): fc.Arbitrary<number> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: STEPS }).map((step) => min + (max - min) * step / STEPS) },
    { weight: 1, arbitrary: fc.double({ min, max, noNaN: true }) }
  )
