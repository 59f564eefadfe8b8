import { isDateTime } from "../xml/DateTimes.ts"

const instantOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const trimmed = text.trim()
  if (!isDateTime(trimmed)) return undefined
  return Date.parse(/(?:Z|[+-]\d\d:\d\d)$/.test(trimmed) ? trimmed : `${trimmed}Z`)
}

/** From the first to the last time; undefined without two, or where they run backwards. */
const secondsOf = <Item>(items: ReadonlyArray<Item>, timeOf: (item: Item) => string | undefined) => {
  const first = items.find((item) => instantOf(timeOf(item)) !== undefined)
  if (first === undefined) return undefined
  const last = items.findLast((item) => instantOf(timeOf(item)) !== undefined) ?? first
  const seconds = ((instantOf(timeOf(last)) ?? 0) - (instantOf(timeOf(first)) ?? 0)) / 1000
  return seconds > 0 ? seconds : undefined
}

export const isWithinSeconds = (from: string | undefined, to: string | undefined, seconds: number): boolean => {
  const elapsed = ((instantOf(to) ?? Number.NaN) - (instantOf(from) ?? Number.NaN)) / 1000
  return elapsed >= 0 && elapsed <= seconds
}

export const sumOf = (values: ReadonlyArray<number | undefined>): number | undefined => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0)
}

/** The sum over the parts, without the time between them. */
export const durationOf = <Item>(
  parts: ReadonlyArray<ReadonlyArray<Item>>,
  timeOf: (item: Item) => string | undefined
): number | undefined => sumOf(parts.map((part) => secondsOf(part, timeOf)))
