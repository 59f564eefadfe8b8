import type { Coordinates } from "./Coordinates.ts"
import { metresBetween } from "./Geodesy.ts"

/** Elevations are averaged over so many metres on either side, since barometers and satellites are noisy. */
const REACH = 50

const LEAST_CLIMB = 3

/** In metres: no ground is higher or lower. */
export const MAX_ELEVATION = 12_000

interface Profile {
  readonly at: Float64Array
  readonly elevations: Float64Array
}

const profileOf = ({ lats, lngs }: Coordinates, elevations: Float64Array): Profile => {
  const profile = { at: new Float64Array(lngs.length), elevations: new Float64Array(lngs.length) }
  let count = 0
  let metres = 0
  for (let index = 0; index < lngs.length; index++) {
    if (index > 0) {
      metres += metresBetween(lngs[index - 1] ?? 0, lats[index - 1] ?? 0, lngs[index] ?? 0, lats[index] ?? 0)
    }
    const elevation = elevations[index] ?? Number.NaN
    if (!(Math.abs(elevation) <= MAX_ELEVATION)) continue
    profile.at[count] = metres
    profile.elevations[count] = elevation
    count++
  }
  return { at: profile.at.subarray(0, count), elevations: profile.elevations.subarray(0, count) }
}

const smoothed = ({ at, elevations }: Profile): Float64Array => {
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

/**
 * Metres climbed, to a decimetre: averaged over 50 m on either side, without rises below 3 m. NaN is a position without
 * an elevation; undefined where fewer than two have one.
 */
export const elevationGainOf = (line: Coordinates, elevations: Float64Array): number | undefined => {
  const profile = profileOf(line, elevations)
  return profile.at.length < 2 ? undefined : Math.round(10 * climbs(smoothed(profile))) / 10
}
