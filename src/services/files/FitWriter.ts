import { FitBaseType, FitEncoder, type FitEncoderField } from "fit-file-parser/encoder"
import type { Position } from "../../schema/Geometry.ts"
import type { Activity } from "../../schema/Preferences.ts"
import { coordinatesOf, metresAlong, NO_GAPS } from "../geometry/Geodesy.ts"
import { coursePointsOf, shapingPoints, waypointMark } from "./CoursePoints.ts"
import type { WrittenRoute } from "./Draft.ts"
import { OWN_CUE, OWN_MEASURES, SEMICIRCLES, SHAPING_POINT } from "./FitBytes.ts"

const FILE_ID = 0
const LAP = 19
const RECORD = 20
const EVENT = 21
const COURSE = 31
const COURSE_POINT = 32
const TIMESTAMP = 253

const FILE_TYPE_COURSE = 6
const MANUFACTURER_DEVELOPMENT = 255
const EVENT_TIMER = 0
const EVENT_START = 0
const EVENT_STOP_ALL = 4
const EVENT_STOP_DISABLE_ALL = 9

const SPORTS: Record<Activity, number> = { run: 1, cycle: 2, walk: 11 }
const GENERIC_SPORT = 0

/** The version is 2.0: its upper four bits are the major version. */
const PROTOCOL_VERSION = 0x20

/** FIT reads smaller numbers as seconds since power-on. */
const LEAST_INSTANT = Date.UTC(2000, 0)

/** FIT counts 32 bits of seconds, which end a month later. */
const LAST_INSTANT = Date.UTC(2126, 0)

const MAX_TEXT_BYTES = 255
const MAX_POINT_NAME_BYTES = 64

const field = (size: number, baseType: FitBaseType) => (number: number, value: number): FitEncoderField => ({
  number,
  size,
  baseType,
  value
})
const enumerated = field(1, FitBaseType.Enum)
const uint16 = field(2, FitBaseType.Uint16)

/** The largest number of the type is no value. */
const MAX_UINT32 = 2 ** 32 - 2
const uint32 = (number: number, value: number) => field(4, FitBaseType.Uint32)(number, Math.min(value, MAX_UINT32))
const sint32 = field(4, FitBaseType.Sint32)

/** A measure that is too large is left out: the largest number of the type would be a wrong one. */
const measure = (number: number, value: number) => value > MAX_UINT32 ? [] : [uint32(number, value)]

/** A field of our own messages counts so many to a unit: the coarse scale is for what exceeds 32 bits in the fine one. */
export interface OwnScale {
  readonly fine: number
  readonly coarse: number
}

export const OWN_METRES: OwnScale = { fine: 100, coarse: 10 }
export const OWN_KILOMETRES: OwnScale = { fine: 100_000, coarse: 10_000 }
export const OWN_SECONDS: OwnScale = { fine: 1000, coarse: 10 }

/** The coarse scale adds this to the number of the field, since a field without it always has the fine scale. */
export const COARSE_FIELD = 16

const ownMeasure = (number: number, value: number, { coarse, fine }: OwnScale) => {
  const scaled = Math.round(fine * value)
  return scaled > MAX_UINT32 ? uint32(number + COARSE_FIELD, Math.round(coarse * value)) : uint32(number, scaled)
}

// 180 degrees would be one more than the largest number: the last one is practically the same meridian.
const semicircles = (number: number, degrees: number) =>
  sint32(number, Math.min(Math.round(degrees * SEMICIRCLES / 180), SEMICIRCLES - 2))

const text = (number: number, value: string, maxBytes: number): FitEncoderField => {
  const kept = { text: "", bytes: 1 }
  for (const character of value.replaceAll("\u0000", "")) {
    const bytes = Buffer.byteLength(character)
    if (kept.bytes + bytes > maxBytes) break
    kept.text += character
    kept.bytes += bytes
  }
  const bytes = FitEncoder.string(kept.text)
  return { number, size: bytes.length, baseType: FitBaseType.String, value: bytes }
}

const centimetres = (metres: number) => Math.round(100 * metres)

const milliseconds = (seconds: number) => Math.round(1000 * seconds)

/** Altitudes have scale 5 and offset 500 (FIT profile). */
const altitude = (elevation: number) => Math.max(0, Math.round(5 * (elevation + 500)))

const recordOf = ([lng, lat, elevation]: Position, time: number, metres: number): Array<FitEncoderField> => [
  uint32(TIMESTAMP, time),
  semicircles(0, lat),
  semicircles(1, lng),
  ...measure(5, centimetres(metres)),
  ...(elevation === undefined ? [] : [uint32(78, altitude(elevation))])
]

const timerEvent = (time: number, type: number): Array<FitEncoderField> => [
  uint32(TIMESTAMP, time),
  enumerated(0, EVENT_TIMER),
  enumerated(1, type)
]

/** Writes a course with the route's duration, or a second for each position. The timer stops for a second at a gap. */
export const writeFit = (route: WrittenRoute): Uint8Array => {
  const { activity, createdAt, duration, geometry, name, recordedAt, segments = NO_GAPS } = route
  const encoder = new FitEncoder({ protocolVersion: PROTOCOL_VERSION })
  const began = Date.parse(recordedAt ?? createdAt ?? "") || LEAST_INSTANT
  const start = FitEncoder.toFitTimestamp(new Date(Math.min(LAST_INSTANT, Math.max(LEAST_INSTANT, began))))
  const distances = metresAlong(coordinatesOf(geometry), segments)
  const length = distances.at(-1) ?? 0
  const starts = new Set(segments.slice(1))
  let pauses = 0
  const times = distances.map((metres, index) => {
    if (starts.has(index)) pauses++
    return start + pauses + Math.round(duration !== undefined && length > 0 ? duration * metres / length : index)
  })
  const metresAt = (index: number) => distances[index] ?? 0
  const timeAt = (index: number) => times[index] ?? start
  const end = timeAt(geometry.length - 1)
  const last = geometry.at(-1)

  const points = coursePointsOf(route)
  const cues = points.flatMap(({ point }) => point.cue ?? [])

  encoder.writeMessage(FILE_ID, [
    enumerated(0, FILE_TYPE_COURSE),
    uint16(1, MANUFACTURER_DEVELOPMENT),
    uint16(2, 0),
    uint32(4, start),
    text(8, waypointMark(points.length - cues.length), MAX_TEXT_BYTES)
  ])
  encoder.writeMessage(COURSE, [
    enumerated(4, activity === undefined ? GENERIC_SPORT : SPORTS[activity]),
    text(5, name, MAX_TEXT_BYTES)
  ])
  encoder.writeMessage(LAP, [
    uint32(TIMESTAMP, end),
    uint32(2, start),
    ...(geometry[0] === undefined ? [] : [semicircles(3, geometry[0][1]), semicircles(4, geometry[0][0])]),
    ...(last === undefined ? [] : [semicircles(5, last[1]), semicircles(6, last[0])]),
    ...(duration === undefined
      ? []
      : [...measure(7, milliseconds(duration + pauses)), ...measure(8, milliseconds(duration))]),
    ...measure(9, centimetres(length))
  ])
  encoder.writeMessage(EVENT, timerEvent(start, EVENT_START))
  for (const [index, position] of geometry.entries()) {
    if (starts.has(index)) {
      encoder.writeMessage(EVENT, timerEvent(timeAt(index - 1), EVENT_STOP_ALL))
      encoder.writeMessage(EVENT, timerEvent(timeAt(index), EVENT_START))
    }
    encoder.writeMessage(RECORD, recordOf(position, timeAt(index), metresAt(index)), 1)
  }
  const own = [route.distance, route.elevationGain].flatMap((metres, index) =>
    metres === undefined ? [] : [ownMeasure(1 + index, metres, OWN_METRES)]
  )
  // A shorter duration is in the lap.
  if (duration !== undefined && milliseconds(duration) > MAX_UINT32) own.push(ownMeasure(3, duration, OWN_SECONDS))
  if (own.length > 0) encoder.writeMessage(OWN_MEASURES, [ownMeasure(0, length, OWN_METRES), ...own])
  for (const { begin_shape_index, length, time, type } of cues) {
    encoder.writeMessage(OWN_CUE, [
      uint32(0, type),
      uint32(1, begin_shape_index),
      ownMeasure(2, length, OWN_KILOMETRES),
      ownMeasure(3, time, OWN_SECONDS)
    ])
  }
  for (const { coord: [lng, lat], index } of shapingPoints(route.waypoints)) {
    encoder.writeMessage(SHAPING_POINT, [sint32(0, index), semicircles(1, lat), semicircles(2, lng)])
  }
  for (const { index, point: { at, coord: [lng, lat], fit, name, text: words = name } } of points) {
    encoder.writeMessage(COURSE_POINT, [
      uint16(254, index),
      uint32(1, timeAt(at)),
      semicircles(2, lat),
      semicircles(3, lng),
      ...measure(4, centimetres(metresAt(at))),
      enumerated(5, fit),
      ...(words === "" ? [] : [text(6, words, MAX_POINT_NAME_BYTES)])
    ])
  }
  encoder.writeMessage(EVENT, timerEvent(end, EVENT_STOP_DISABLE_ALL))
  return encoder.close()
}
