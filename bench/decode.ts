import { Schema } from "effect"
import { Positions } from "../src/schema/Geometry.ts"
import { median } from "./statistics.ts"

const POSITIONS = 100_000
const ROUNDS = 10

const Longitude = Schema.Finite.check(Schema.isBetween({ minimum: -180, maximum: 180 }))
const Latitude = Schema.Finite.check(Schema.isBetween({ minimum: -90, maximum: 90 }))

/** The same rules written with the generic combinators. */
const Generic = Schema.Array(
  Schema.Union([Schema.Tuple([Longitude, Latitude]), Schema.Tuple([Longitude, Latitude, Schema.Finite])])
)

const geometry = Array.from({ length: POSITIONS }, (_, n) => [n / 1000 - 50, (n % 1800) / 100, n % 900])

const measure = (decode: (value: unknown) => unknown) =>
  median(Array.from({ length: ROUNDS }, () => {
    const started = performance.now()
    decode(geometry)
    return performance.now() - started
  }))

/** Median milliseconds to decode a geometry of 100,000 positions: our one pass, and the generic combinators. */
export const decodeTimes = () => {
  const ours = measure(Schema.decodeUnknownSync(Positions))
  const generic = measure(Schema.decodeUnknownSync(Generic))
  return { ours, generic, ratio: generic / ours }
}
