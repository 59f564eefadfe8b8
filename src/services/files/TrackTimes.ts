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
