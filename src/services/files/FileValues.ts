import { isLatitude, MAX_LONGITUDE, type Position, type Segments } from "../../schema/Geometry.ts"
import { isDay, MAX_DURATION, recordedAtOf } from "../../schema/Measures.ts"
import { elevationGainOf } from "../geometry/Elevation.ts"
import { coordinatesOf, metresAlong } from "../geometry/Geodesy.ts"
import { elevationsOf } from "../geometry/MeasuredPolyline.ts"
import { childOf, textOf, type XmlElement } from "./XmlTree.ts"

/** `recordedAt` is ISO 8601; the others are in metres, seconds and metres. */
export interface Measures {
  readonly distance?: number
  readonly duration?: number
  readonly elevationGain?: number
  readonly recordedAt?: string
}

/**
 * `line` has the metres of the line that the measures belong to, `way` tells its direction and `climb` has the metres of
 * its elevations; FIT and files of earlier versions have only the first. `recordedAt` is there for a route without a
 * line: the positions of any other have times.
 */
export interface OwnMeasures extends Measures {
  readonly line: number
  readonly way?: number | undefined
  readonly climb?: number | undefined
}

/** Our files have the measures of the route under this name; they need not be those of its line. */
export const OWN_MEASURES = "rps:measures"

const MEASURES = ["distance", "duration", "elevationGain"] as const

type MeasuredRoute = Measures & {
  readonly geometry: ReadonlyArray<Position>
  readonly segments?: Segments
}

/** Returns a mean of the degrees in which positions count more the later they are: another one in each direction. */
export const wayOf = (line: ReadonlyArray<Position>): number => {
  const sum = line.reduce((sum, [lng, lat], index) => sum + (index + 1) * (lng + 2 * lat), 0)
  return 2 * sum / (line.length * (line.length + 1))
}

export const gainOf = (line: ReadonlyArray<Position>, segments?: Segments, metres?: Float64Array): number | undefined =>
  elevationGainOf(coordinatesOf(line), elevationsOf(line), segments, metres)

/** Earlier versions read the first five parts. */
const MAX_PARTS = 7

export const measuresText = (
  route: MeasuredRoute,
  metres = metresAlong(coordinatesOf(route.geometry), route.segments)
): string | undefined => {
  const { geometry, segments } = route
  const names = geometry.length === 0 ? [...MEASURES, "recordedAt"] as const : MEASURES
  const known = names.flatMap((name) => route[name] === undefined ? [] : [`${name}:${route[name]}`])
  if (known.length === 0) return undefined
  const way = geometry.length === 0 ? [] : [`way:${wayOf(geometry)}`]
  const climb = gainOf(geometry, segments, metres)
  return [`line:${metres.at(-1) ?? 0}`, ...known, ...way, ...(climb === undefined ? [] : [`climb:${climb}`])].join(" ")
}

const measureIn = (text: string, name: string): string | undefined =>
  text.split(" ", MAX_PARTS).find((part) => part.startsWith(`${name}:`))?.slice(name.length + 1)

export const measuresIn = (text = ""): OwnMeasures | undefined => {
  const [line, way, climb] = ["line", "way", "climb"].map((name) => numberOf(measureIn(text, name)))
  if (line === undefined) return undefined
  const known = MEASURES.map((name) => [name, numberOf(measureIn(text, name))] as const)
  const recordedAt = instantText(measureIn(text, "recordedAt"))
  return {
    line,
    way,
    climb,
    ...Object.fromEntries(known.filter(([, value]) => value !== undefined)),
    ...(recordedAt === undefined ? {} : { recordedAt })
  }
}

export const MAX_WORDS = 10_000

const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

export const stringOf = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

export const finiteOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

export const numberOf = (text: string | undefined): number | undefined => {
  if (text === undefined || !NUMBER.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

const withoutExponent = (text: string): string => {
  const [, sign = "", whole = "", fraction = "", exponent] = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text) ?? []
  const point = whole.length + Number(exponent)
  const digits = whole + fraction
  return point <= 0
    ? `${sign}0.${"0".repeat(-point)}${digits}`
    : `${sign}${digits.padEnd(point, "0")}`
}

/** Writes the shortest digits, without an exponent, which `xsd:decimal` lacks (XML Schema Part 2, 3.2.3). */
export const decimal = (value: number): string => {
  if (Object.is(value, -0)) return "-0"
  // `String` caches what it printed: a long file would fill the heap.
  const text = JSON.stringify(value)
  return text.includes("e") ? withoutExponent(text) : text
}

/** Unwrapped longitudes go up to one and a half turns; `Positions.ts` decides what becomes of them. */
const MAX_UNWRAPPED = 3 * MAX_LONGITUDE

const isUnwrapped = (lng: number | undefined): lng is number => lng !== undefined && Math.abs(lng) <= MAX_UNWRAPPED

export const positionOf = (
  lng: number | undefined,
  lat: number | undefined,
  elevation: number | undefined
): Position | undefined => {
  if (!isUnwrapped(lng) || !isLatitude(lat)) return undefined
  return elevation === undefined ? [lng, lat] : [lng, lat, elevation]
}

export const coordOf = ([lng, lat]: Position): readonly [lng: number, lat: number] => [lng, lat]

const DATE_TIME =
  /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00))?$/

/** `xsd:dateTime` has a year of four digits (XML Schema Part 2, 3.2.7). */
export const isDateTime = (text: string): boolean => DATE_TIME.test(text) && isDay(text)

const MAX_TIME = 64

/** Other programs write ISO 8601 in its other forms, and with a blank for `T`, a slash, or a name of the zone. */
const LOOSE =
  /^(\d{4})[-/]?(\d\d)[-/]?(\d\d)[T ](\d\d?):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)? ?(?:Z|UTC|GMT|([+-]\d\d)(?::?(\d\d))?)?(?:\[[^\]]*\])?$/i

const dateTimeIn = (text: string): string => {
  if (text.length > MAX_TIME || isDateTime(text)) return text
  const match = LOOSE.exec(text)
  if (match === null) return text
  const [, year, month, day, hour = "", minute, second = "00", fraction = "0", offset, minutes = "00"] = match
  const zone = offset === undefined ? "Z" : `${offset}:${minutes}`
  return `${year}-${month}-${day}T${hour.padStart(2, "0")}:${minute}:${second}.${fraction}${zone}`
}

const instantOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const trimmed = dateTimeIn(text.trim())
  if (!isDateTime(trimmed)) return undefined
  return Date.parse(/(?:Z|[+-]\d\d:\d\d)$/.test(trimmed) ? trimmed : `${trimmed}Z`)
}

/** Returns the indexes of the longest run of values that do not go down, by binary search among shorter runs. */
export const longestRun = (values: ReadonlyArray<number>): ReadonlyArray<number> => {
  const ends: Array<number> = []
  const lasts: Array<number> = []
  const before = new Int32Array(values.length)
  for (const [index, value] of values.entries()) {
    if (!Number.isFinite(value)) continue
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((lasts[middle] ?? Infinity) <= value) low = middle + 1
      else high = middle
    }
    before[index] = ends[low - 1] ?? -1
    ends[low] = index
    lasts[low] = value
  }
  const run: Array<number> = []
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) run.push(at)
  return run.toReversed()
}

const HOUR = 3_600_000

/** This part of the times in a run may be wrong, and at least one time. */
const FEW = 0.1

/** Leaves out a few times at either end that are farther from the others than an hour, and than their span. */
const withoutApart = (run: ReadonlyArray<number>, times: ReadonlyArray<number>): ReadonlyArray<number> => {
  const few = run.length > 3 ? Math.max(1, Math.floor(FEW * run.length)) : 0
  const last = run.length - 1
  const timeAt = (at: number) => times[run[at] ?? -1] ?? Number.NaN
  const elapsed = (from: number, to: number) => timeAt(to) - timeAt(from)
  const far = Math.max(HOUR, elapsed(few, last - few))
  let [from, to] = [0, last]
  for (let at = 0; at < few; at++) {
    if (elapsed(at, at + 1) > far) from = at + 1
    if (elapsed(last - at - 1, last - at) > far) to = last - at - 1
  }
  return run.slice(from, to + 1)
}

const onlyAt = (indexes: ReadonlyArray<number>, times: ReadonlyArray<number>): ReadonlyArray<number> => {
  const kept = new Set(indexes)
  return times.map((time, index) => kept.has(index) ? time : Number.NaN)
}

export const timesInOrder = (times: ReadonlyArray<number>): ReadonlyArray<number> => onlyAt(longestRun(times), times)

/** A clock that was wrong for some records gives times that run backwards, or that are far from all others. */
export const soundTimes = (times: ReadonlyArray<number>): ReadonlyArray<number> =>
  onlyAt(withoutApart(longestRun(times), times), times)

type TimeOf<Item> = (item: Item) => string | undefined

/** The instants of the first and the last time of a part are in milliseconds. */
interface Ends {
  readonly first: number
  readonly last: number
}

const endsOf = <Item>(items: ReadonlyArray<Item>, timeOf: TimeOf<Item>): Ends | undefined => {
  const first = items.find((item) => instantOf(timeOf(item)) !== undefined)
  if (first === undefined) return undefined
  const last = items.findLast((item) => instantOf(timeOf(item)) !== undefined) ?? first
  return { first: instantOf(timeOf(first)) ?? 0, last: instantOf(timeOf(last)) ?? 0 }
}

/** No recording is that long: a clock was wrong, such as one that satellites set back by 1024 weeks. */
const soundEndsOf = <Item>(items: ReadonlyArray<Item>, timeOf: TimeOf<Item>): Ends | undefined => {
  const ends = endsOf(items, timeOf)
  if (ends === undefined || Math.abs(ends.last - ends.first) <= 1000 * MAX_DURATION) return ends
  const times = soundTimes(items.map((item) => instantOf(timeOf(item)) ?? Number.NaN)).filter(Number.isFinite)
  return { first: times[0] ?? ends.first, last: times.at(-1) ?? ends.last }
}

/** Measures the time from the first to the last; undefined without two, or if they run backwards. */
const secondsOf = (ends: Ends | undefined): number | undefined => {
  const seconds = ends === undefined ? 0 : (ends.last - ends.first) / 1000
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

export const durationOf = <Item>(
  parts: ReadonlyArray<ReadonlyArray<Item>>,
  timeOf: TimeOf<Item>
): number | undefined => sumOf(parts.map((part) => secondsOf(endsOf(part, timeOf))))

export interface Recording {
  /** The seconds are those of the parts, without the time between them. */
  readonly seconds: number | undefined
  /** The recording began then (ISO 8601). */
  readonly recordedAt: string | undefined
}

export const NOT_RECORDED: Recording = { seconds: undefined, recordedAt: undefined }

export const recordingOf = <Item>(
  parts: ReadonlyArray<ReadonlyArray<Item>>,
  timeOf: TimeOf<Item>
): Recording => {
  const ends = parts.map((part) => soundEndsOf(part, timeOf))
  const began = ends.find((found) => found !== undefined)?.first ?? Number.NaN
  return { seconds: sumOf(ends.map(secondsOf)), recordedAt: recordedAtOf(began) }
}

export const instantText = (text: string | undefined): string | undefined => recordedAtOf(instantOf(text) ?? Number.NaN)

/** GPX 1.1 and TCX exclude 180 (`maxExclusive`): it is written as -180, with an extension that brings it back. */
const EDGE = MAX_LONGITUDE
export const OWN_LONGITUDE = "rps:longitude"

export const withinEdge = (lng: number): number => lng === EDGE ? -EDGE : lng

export const edgeMark = (lng: number): { readonly [OWN_LONGITUDE]?: string } =>
  lng === EDGE ? { [OWN_LONGITUDE]: String(EDGE) } : {}

export const beyondEdge = (lng: number | undefined, point: XmlElement, extensions: string): number | undefined =>
  lng === -EDGE && textOf(childOf(point, extensions), OWN_LONGITUDE) === String(EDGE) ? EDGE : lng

export const PIECE_LENGTH = 65_536

export function* chunked(pieces: Iterable<string>): Generator<string> {
  let chunk = ""
  for (const piece of pieces) {
    chunk += piece
    if (chunk.length < PIECE_LENGTH) continue
    yield chunk
    chunk = ""
  }
  if (chunk !== "") yield chunk
}
