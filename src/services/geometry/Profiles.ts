import { Schema } from "effect"
import type { ElevationProfile } from "../../schema/Elevation.ts"
import { type Position, Positions } from "../../schema/Geometry.ts"
import { HeavyJob } from "../heavy/HeavyJob.ts"
import { metresBetween } from "./Geodesy.ts"

/** Of each position, from the start. */
export const metresAlong = (line: ReadonlyArray<Position>): Float64Array => {
  const metres = new Float64Array(line.length)
  for (const [index, [lng, lat]] of line.entries()) {
    const before = line[index - 1]
    metres[index] = before === undefined ? 0 : (metres[index - 1] ?? 0) + metresBetween(before[0], before[1], lng, lat)
  }
  return metres
}

const decimetres = (metres: number) => Math.round(10 * metres) / 10

const between = (before: number, after: number, share: number): number | null => {
  if (share === 0) return Number.isFinite(before) ? decimetres(before) : null
  const height = before + share * (after - before)
  return Number.isFinite(height) ? decimetres(height) : null
}

/**
 * Its own positions where there are no more than `samples`, else as many at even distances, the ends included. Heights are
 * interpolated between two positions that have one, and rounded to decimetres.
 */
export const profileOf = (line: ReadonlyArray<Position>, samples: number): ElevationProfile => {
  const metres = metresAlong(line)
  const distance = metres.at(-1) ?? 0
  const heightAt = (index: number) => line[index]?.[2] ?? Number.NaN
  if (!line.some((position) => position.length === 3)) return { distance: decimetres(distance), points: [] }
  const last = line.length - 1
  const at = { index: 0 }
  const sampleAt = (sample: number) => {
    const wanted = sample === samples - 1 ? distance : distance * sample / (samples - 1)
    while (at.index < last - 1 && (metres[at.index + 1] ?? 0) <= wanted) at.index++
    const from = metres[at.index] ?? 0
    const length = (metres[at.index + 1] ?? 0) - from
    const share = length > 0 ? Math.min(1, (wanted - from) / length) : 0
    const height = share === 1
      ? between(heightAt(at.index + 1), 0, 0)
      : between(heightAt(at.index), heightAt(at.index + 1), share)
    return { distance: decimetres(wanted), height }
  }
  const points = line.length <= samples
    ? line.map((_, index) => ({ distance: decimetres(metres[index] ?? 0), height: between(heightAt(index), 0, 0) }))
    : Array.from({ length: samples }, (_, sample) => sampleAt(sample))
  return { distance: decimetres(distance), points }
}

interface Sampled {
  readonly geometry: string
  readonly samples: number
}

const decodeLine = Schema.decodeSync(Schema.fromJsonString(Positions))

export const measureProfile = new HeavyJob<Sampled, ElevationProfile>(import.meta.url, {
  name: "measure profile",
  share: "profiles",
  run: ({ geometry, samples }) => profileOf(decodeLine(geometry), samples)
})
