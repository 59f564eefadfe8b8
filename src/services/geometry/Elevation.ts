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
  const before = new Uint32Array(elevations.length + 1)
  for (let index = 0; index < elevations.length; index++) {
    before[index + 1] = (before[index] ?? 0) + (isKnown(elevations[index]) ? 1 : 0)
  }
  return {
    at: at.filter((_, index) => isKnown(elevations[index])),
    elevations: elevations.filter(isKnown),
    segments: [...new Set(segments.map((start) => before[start] ?? 0))]
  }
}

const smoothed = (at: Float64Array, elevations: Float64Array): Float64Array => {
  const means = new Float64Array(at.length)
  let sum = 0
  let from = 0
  let to = 0
  for (let index = 0; index < at.length; index++) {
    const metres = at[index] ?? 0
    for (; to < at.length && (at[to] ?? 0) <= metres + REACH; to++) sum += elevations[to] ?? 0
    for (; (at[from] ?? 0) < metres - REACH; from++) sum -= elevations[from] ?? 0
    means[index] = sum / (to - from)
  }
  return means
}

const climbs = (elevations: Float64Array): number => {
  let low = elevations[0] ?? 0
  let high = low
  let gain = 0
  for (const elevation of elevations) {
    if (elevation > high) high = elevation
    const isOver = high - elevation >= LEAST_CLIMB
    if (!isOver && elevation >= low) continue
    if (high - low >= LEAST_CLIMB) gain += high - low
    low = elevation
    high = elevation
  }
  return high - low >= LEAST_CLIMB ? gain + high - low : gain
}

const decimetres = (metres: number) => Math.round(10 * metres) / 10

/** Returns the parts with two elevations or more, with the averages of these. */
const smoothedParts = ({ at, elevations, segments }: Heights) =>
  rangesOf(at.length, segments).filter(({ from, to }) => to - from >= 2).map(({ from, to }) => {
    const along = at.subarray(from, to)
    return { along, means: smoothed(along, elevations.subarray(from, to)) }
  })

const sumOf = (all: ReadonlyArray<number>) => all.reduce((sum, one) => sum + one, 0)

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
  const parts = smoothedParts(heightsAlong(at, elevations, segments))
  return parts.length === 0 ? undefined : decimetres(sumOf(parts.map(({ means }) => climbs(means))))
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

const steepestOf = (at: Float64Array, means: Float64Array): number | undefined => {
  let steepest = -1
  let to = 0
  for (let from = 0; from < at.length; from++) {
    while (to < at.length && (at[to] ?? 0) - (at[from] ?? 0) < STEEP_METRES) to++
    if (to === at.length) break
    const rise = (means[to] ?? 0) - (means[from] ?? 0)
    steepest = Math.max(steepest, rise / ((at[to] ?? 0) - (at[from] ?? 0)))
  }
  return steepest < 0 ? undefined : 100 * steepest
}

/** Measures as `elevationGainOf` does. */
export const climbOf = (at: Float64Array, elevations: Float64Array, segments: Segments): Climb | undefined => {
  const heights = heightsAlong(at, elevations, segments)
  const parts = smoothedParts(heights)
  if (parts.length === 0) return undefined
  const slopes = parts.flatMap(({ along, means }) => steepestOf(along, means) ?? [])
  return {
    ascent: decimetres(sumOf(parts.map(({ means }) => climbs(means)))),
    descent: decimetres(sumOf(parts.map(({ means }) => climbs(means.toReversed())))),
    highest: heights.elevations.reduce((high, elevation) => Math.max(high, elevation), -Infinity),
    lowest: heights.elevations.reduce((low, elevation) => Math.min(low, elevation), Infinity),
    steepest: slopes.length === 0 ? undefined : Math.max(...slopes)
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
