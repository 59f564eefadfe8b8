import { coordinatesOf, metresAlong, NO_GAPS } from "../geometry/Geodesy.ts"
import type { WrittenRoute } from "./Draft.ts"
import { isDateTime } from "./FileValues.ts"

const MINUTE = 60_000

const SECONDS_LENGTH = "00.000Z".length
const FRACTION_LENGTH = ".000Z".length

/** Dates are formatted once a minute, since one costs as much as the rest of a point. */
const clockFrom = (from: string | undefined) => {
  const start = from !== undefined && isDateTime(from) ? Date.parse(from) : 0
  const fraction = new Date(start).toISOString().slice(-FRACTION_LENGTH)
  const current = { minute: Number.NaN, text: "" }
  return (seconds: number) => {
    const time = start + seconds * 1000
    const minute = Math.floor(time / MINUTE)
    if (minute !== current.minute) {
      current.minute = minute
      current.text = new Date(minute * MINUTE).toISOString().slice(0, -SECONDS_LENGTH)
    }
    const second = Math.floor((time - minute * MINUTE) / 1000)
    return `${current.text}${second < 10 ? "0" : ""}${second}${fraction}`
  }
}

/**
 * Returns the time at each position, since that of a recording is not stored: it begins with the recording, else with the creation
 * of the route, and passes by distance within the duration, else a second for each position.
 */
export const timesAlong = ({ createdAt, duration, recordedAt }: WrittenRoute, metres: Float64Array) => {
  const clock = clockFrom(recordedAt ?? createdAt)
  const length = metres.at(-1) ?? 0
  return (index: number) =>
    clock(duration === undefined || length === 0 ? index : Math.round(duration * (metres[index] ?? 0) / length))
}

/** A recording without a duration has the time of its first position only. */
export const recordedTimes = (route: WrittenRoute): (index: number) => string | undefined => {
  const { duration, geometry, recordedAt, segments = NO_GAPS } = route
  if (recordedAt === undefined) return () => undefined
  if (duration === undefined) return (index) => index === 0 ? recordedAt : undefined
  return timesAlong(route, metresAlong(coordinatesOf(geometry), segments))
}

/** Returns the indexes of the longest run of times that do not go backwards, by binary search among the ends of shorter ones. */
const inOrder = (times: ReadonlyArray<number>): ReadonlyArray<number> => {
  const ends: Array<number> = []
  const before = new Int32Array(times.length)
  for (const [index, time] of times.entries()) {
    if (!Number.isFinite(time)) continue
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((times[ends[middle] ?? 0] ?? 0) <= time) low = middle + 1
      else high = middle
    }
    before[index] = low === 0 ? -1 : ends[low - 1] ?? -1
    ends[low] = index
  }
  const run: Array<number> = []
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) run.push(at)
  return run.toReversed()
}

const HOUR = 3_600_000

/** The part of a run that may be wrong, and one at least. */
const FEW = 0.1

/** Leaves out a few times at either end that are farther from the others than an hour, and than these are from each other. */
const withoutApart = (run: ReadonlyArray<number>, times: ReadonlyArray<number>): ReadonlyArray<number> => {
  const few = run.length > 3 ? Math.max(1, Math.floor(FEW * run.length)) : 0
  const last = run.length - 1
  const elapsed = (from: number, to: number) => (times[run[to] ?? 0] ?? 0) - (times[run[from] ?? 0] ?? 0)
  const far = Math.max(HOUR, elapsed(few, last - few))
  let [from, to] = [0, last]
  for (let at = 0; at < few; at++) {
    if (elapsed(at, at + 1) > far) from = at + 1
    if (elapsed(last - at - 1, last - at) > far) to = last - at - 1
  }
  return run.slice(from, to + 1)
}

/** A clock that was wrong for some records gives times that run backwards, or that are far from all others. */
export const soundTimes = (times: ReadonlyArray<number>): ReadonlyArray<number> => {
  const sound = new Set(withoutApart(inOrder(times), times))
  return times.map((time, index) => sound.has(index) ? time : Number.NaN)
}
