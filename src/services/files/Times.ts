import { isDateTime } from "./xml/DateTimes.ts"

/** The milliseconds of an `xsd:dateTime`; one without a time zone is read as UTC. */
const instantOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const trimmed = text.trim()
  if (!isDateTime(trimmed)) return undefined
  return Date.parse(/(?:Z|[+-]\d\d:\d\d)$/.test(trimmed) ? trimmed : `${trimmed}Z`)
}

/**
 * The seconds from the first to the last of the items that has a time; none without two, or where they run backwards.
 */
const secondsOf = <Item>(items: ReadonlyArray<Item>, timeOf: (item: Item) => string | undefined) => {
  const first = items.find((item) => instantOf(timeOf(item)) !== undefined)
  if (first === undefined) return undefined
  const last = items.findLast((item) => instantOf(timeOf(item)) !== undefined) ?? first
  const seconds = ((instantOf(timeOf(last)) ?? 0) - (instantOf(timeOf(first)) ?? 0)) / 1000
  return seconds > 0 ? seconds : undefined
}

/** Whether the second time is not before the first, nor more than so many seconds after it. */
export const isWithinSeconds = (from: string | undefined, to: string | undefined, seconds: number): boolean => {
  const elapsed = ((instantOf(to) ?? Number.NaN) - (instantOf(from) ?? Number.NaN)) / 1000
  return elapsed >= 0 && elapsed <= seconds
}

/** The sum of numbers that may be missing; none where all are. */
export const sumOf = (values: ReadonlyArray<number | undefined>): number | undefined => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0)
}

/** The seconds from the first to the last time of each part, added up: the time between two parts does not count. */
export const durationOf = <Item>(
  parts: ReadonlyArray<ReadonlyArray<Item>>,
  timeOf: (item: Item) => string | undefined
): number | undefined => sumOf(parts.map((part) => secondsOf(part, timeOf)))
