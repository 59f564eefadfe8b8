import type { ElevationProfile } from "../../schema/Elevation.ts"
import type { Position, Segments } from "../../schema/Geometry.ts"
import { type Coordinates, coordinatesOf, metresAlong, NO_GAPS, rangesOf } from "./Geodesy.ts"

/** Elevations are averaged over this many metres on either side, since barometers and satellites are noisy. */
const REACH = 50

const LEAST_CLIMB = 3

/** No ground is higher or lower than these metres. */
export const MAX_ELEVATION = 12_000

/** Positions without a plausible elevation are left out. */
export interface Heights {
  /** The metres are from the start. */
  readonly at: Float64Array
  readonly elevations: Float64Array
  /** The indexes are those at which the parts of a line with gaps begin. */
  readonly segments: Segments
}

const isKnown = (elevation: number | undefined) => Math.abs(elevation ?? Number.NaN) <= MAX_ELEVATION

/** NaN is a position without an elevation. `at` is what `metresAlong` returns for the line. */
export const heightsAlong = (at: Float64Array, elevations: Float64Array, segments: Segments): Heights => {
  if (elevations.every(isKnown)) return { at, elevations, segments }
  let start = 0
  const starts = rangesOf(elevations.length, segments).map(({ from, to }) => {
    const { length } = elevations.subarray(from, to).filter(isKnown)
    start += length
    return start - length
  })
  return {
    at: at.filter((_, index) => isKnown(elevations[index])),
    elevations: elevations.filter(isKnown),
    segments: [...new Set(starts)]
  }
}

const smoothed = (at: Float64Array, elevations: Float64Array): Float64Array => {
  let sum = 0
  let from = 0
  let to = 0
  return at.map((metres) => {
    while ((at[to] ?? Infinity) <= metres + REACH) sum += elevations[to++] ?? Number.NaN
    while ((at[from] ?? Infinity) < metres - REACH) sum -= elevations[from++] ?? Number.NaN
    return sum / (to - from)
  })
}

interface Part {
  readonly at: Float64Array
  readonly means: Float64Array
}

/** Returns the parts of the line that have two elevations or more. */
const partsOf = ({ at, elevations, segments }: Heights): ReadonlyArray<Part> =>
  rangesOf(at.length, segments).filter(({ from, to }) => to - from >= 2).map(({ from, to }) => {
    const along = at.subarray(from, to)
    return { at: along, means: smoothed(along, elevations.subarray(from, to)) }
  })

const riseBetween = (low: number, high: number) => {
  const rise = high - low
  return rise >= LEAST_CLIMB ? rise : 0
}

const climbs = (elevations: Float64Array): number => {
  let low = Infinity
  let high = -Infinity
  let gain = 0
  for (const elevation of elevations) {
    high = Math.max(high, elevation)
    if (high - elevation >= LEAST_CLIMB) {
      gain += riseBetween(low, high)
      low = elevation
      high = elevation
    }
    low = Math.min(low, elevation)
  }
  return gain + riseBetween(low, high)
}

const decimetres = (metres: number) => Math.round(10 * metres) / 10

const gainOf = (lines: ReadonlyArray<Float64Array>): number =>
  decimetres(lines.reduce((gain, elevations) => gain + climbs(elevations), 0))

/**
 * Measures the metres climbed in each part of the line, to a decimetre, without rises below 3 m, of elevations that are
 * averaged over 50 m on either side. NaN is a position without an elevation; undefined if no part has two with one.
 */
export const elevationGainOf = (
  line: Coordinates,
  elevations: Float64Array,
  segments: Segments = NO_GAPS,
  at = metresAlong(line, segments)
): number | undefined => {
  const parts = partsOf(heightsAlong(at, elevations, segments))
  return parts.length === 0 ? undefined : gainOf(parts.map(({ means }) => means))
}

interface Climb {
  readonly ascent: number
  readonly descent: number
  readonly highest: number
  readonly lowest: number
  /** The steepest climb is in percent; it is undefined for a line without one that is long enough. */
  readonly steepest: number | undefined
}

/** Errors of the elevations look like walls on shorter climbs. */
const STEEP_METRES = 100

const steepestOf = ({ at, means }: Part): number => {
  let steepest = -Infinity
  let to = 0
  for (const [from, start] of at.entries()) {
    while ((at[to] ?? Infinity) - start < STEEP_METRES) to++
    const end = at[to]
    if (end === undefined) break
    steepest = Math.max(steepest, ((means[to] ?? Number.NaN) - (means[from] ?? Number.NaN)) / (end - start))
  }
  return steepest
}

/** Measures as `elevationGainOf` does. */
export const climbOf = (at: Float64Array, elevations: Float64Array, segments: Segments): Climb | undefined => {
  const heights = heightsAlong(at, elevations, segments)
  const parts = partsOf(heights)
  if (parts.length === 0) return undefined
  const steepest = Math.max(...parts.map(steepestOf))
  return {
    ascent: gainOf(parts.map(({ means }) => means)),
    descent: gainOf(parts.map(({ means }) => means.toReversed())),
    highest: heights.elevations.reduce((high, elevation) => Math.max(high, elevation), -Infinity),
    lowest: heights.elevations.reduce((low, elevation) => Math.min(low, elevation), Infinity),
    steepest: steepest < 0 ? undefined : 100 * steepest
  }
}

/**
 * Takes the line's own positions if there are no more than `samples`, else this number at even distances, with the
 * ends. Heights are interpolated between two positions that have one, and rounded to decimetres.
 */
export const profileOf = (
  line: ReadonlyArray<Position>,
  samples: number,
  segments: Segments = NO_GAPS
): ElevationProfile => {
  const along = metresAlong(coordinatesOf(line), segments)
  const distance = along.at(-1) ?? 0
  if (!line.some((position) => position.length === 3)) return { distance: decimetres(distance), points: [] }
  const heightAt = (index: number) => line[index]?.[2] ?? Number.NaN
  const pointOf = (metres: number, exact: number) => {
    const height = decimetres(exact)
    return { distance: decimetres(metres), height: Number.isFinite(height) ? height : null }
  }
  let index = 0
  const sampleAt = (metres: number) => {
    while ((along[index + 1] ?? Infinity) <= metres) index++
    const start = along[index] ?? Number.NaN
    const share = (metres - start) / ((along[index + 1] ?? Infinity) - start)
    const height = heightAt(index)
    return pointOf(metres, share === 0 ? height : height + share * (heightAt(index + 1) - height))
  }
  const points = line.length <= samples
    ? Array.from(along, (metres, index) => pointOf(metres, heightAt(index)))
    : Array.from({ length: samples }, (_, sample) => sampleAt(distance * (sample / (samples - 1))))
  return { distance: decimetres(distance), points }
}
