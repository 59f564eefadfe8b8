import { Effect } from "effect"
import FitParser, { type ParsedFit } from "fit-file-parser"
import { FitBaseType, FitEncoder, type FitEncoderField } from "fit-file-parser/encoder"
import type { Position } from "../../schema/Geometry.ts"
import type { Activity } from "../../schema/Preferences.ts"
import { MAX_WAYPOINTS } from "../../schema/Route.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { coordinatesOf, metresAlong } from "../geometry/Geodesy.ts"
import { markedWaypoints, turnOf, waypointMark } from "./CourseTurns.ts"
import { type DraftFile, type DraftWaypoint, droppedIf, NOTHING_SAID, type WrittenRoute } from "./Draft.ts"
import { coordOf, durationOf, MAX_READ_POSITIONS, positionOf, sumOf, tooMany } from "./FileValues.ts"
import { NearestPositions } from "./NearestPositions.ts"
import { isFit } from "./PackedFile.ts"

/** A day with a record a second has 86,400. The parser took 3.8 s for 4,000,000 messages without a field. */
const MAX_MESSAGES = 200_000

/** The fields of all messages; a record of a watch has about 15. */
const MAX_FIELDS = 2_000_000

interface Definition {
  readonly bytes: number
  readonly fields: number
}

const FIELD_BYTES = 3

const definitionAt = (bytes: Uint8Array, start: number, hasDeveloperFields: boolean) => {
  const sum = { bytes: 0, fields: 0, end: start }
  const add = (at: number) => {
    const count = bytes[at] ?? 0
    for (let n = 0; n < count; n++) sum.bytes += bytes[at + 2 + n * FIELD_BYTES] ?? 0
    sum.fields += count
    sum.end = at + 1 + count * FIELD_BYTES
  }
  add(start + 5)
  if (hasDeveloperFields) add(sum.end)
  return sum
}

/** Counts by the headers alone, before decoding (FIT protocol, record format). The parser rejects malformed files. */
const hasTooManyMessages = (bytes: Uint8Array): boolean => {
  const definitions = new Map<number, Definition>()
  const seen = { at: bytes[0] ?? 0, messages: 0, fields: 0 }
  while (seen.at < bytes.length - 2) {
    const header = bytes[seen.at] ?? 0
    const isCompressed = (header & 0x80) !== 0
    if (!isCompressed && (header & 0x40) !== 0) {
      const { end, ...definition } = definitionAt(bytes, seen.at, (header & 0x20) !== 0)
      definitions.set(header & 0x0f, definition)
      seen.at = end
    } else {
      const definition = definitions.get(isCompressed ? (header >> 5) & 0x03 : header & 0x0f)
      if (definition === undefined) return false
      seen.at += 1 + definition.bytes
      seen.fields += definition.fields
    }
    seen.messages += 1
    if (seen.messages > MAX_MESSAGES || seen.fields > MAX_FIELDS) return true
  }
  return false
}

const CRC_BYTES = 2

const chainedFilesOf = (bytes: Uint8Array): number => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const seen = { at: 0, files: 0 }
  while (isFit(bytes.subarray(seen.at))) {
    seen.at += view.getUint8(seen.at) + view.getUint32(seen.at + 4, true) + CRC_BYTES
    seen.files += 1
  }
  return seen.files - 1
}

type FitRecord = NonNullable<ParsedFit["records"]>[number]

/** A day with a record a second has 3.5 MiB. */
const MAX_FIT_BYTES = 4 * 1024 * 1024

const parsed = (bytes: Uint8Array) =>
  Effect.callback<ParsedFit, InvalidInput>((resume) => {
    const fail = (error: unknown) =>
      resume(Effect.fail(InvalidInput.at("", `Malformed FIT: ${error instanceof Error ? error.message : error}`)))
    try {
      new FitParser({ force: false }).parse(Buffer.from(bytes), (error, data) => {
        if (data === undefined) fail(error ?? "it has no data")
        else resume(Effect.succeed(data))
      })
    } catch (error) {
      fail(error)
    }
  })

interface Placed {
  readonly record: FitRecord
  readonly position: Position
}

const placed = (record: FitRecord): ReadonlyArray<Placed> => {
  const elevation = record.enhanced_altitude ?? record.altitude
  const position = positionOf(record.position_long, record.position_lat, elevation)
  return position === undefined ? [] : [{ record, position }]
}

const timeOf = ({ timestamp }: { readonly timestamp?: Date }) => timestamp?.getTime() ?? Number.NaN

const isoOf = ({ record }: Placed): string | undefined => {
  const time = timeOf(record)
  return Number.isFinite(time) ? new Date(time).toISOString() : undefined
}

const partsOf = (records: ReadonlyArray<Placed>, { events = [] }: ParsedFit) => {
  const stops = events.filter(({ event, event_type }) =>
    event === "timer" && (event_type === "stop_all" || event_type === "stop")
  ).map(timeOf).toSorted((a, b) => a - b)
  const parts: Array<Array<Placed>> = [[]]
  const next = { stop: 0 }
  for (const item of records) {
    const time = timeOf(item.record)
    const stop = stops[next.stop] ?? Infinity
    if (time > stop && (parts.at(-1)?.length ?? 0) > 0) parts.push([])
    while ((stops[next.stop] ?? Infinity) < time) next.stop++
    parts.at(-1)?.push(item)
  }
  return parts
}

type CoursePoint = NonNullable<ParsedFit["course_points"]>[number]

const waypointsOf = (course_points: ReadonlyArray<CoursePoint>): ReadonlyArray<DraftWaypoint> =>
  course_points.flatMap((point) => {
    const position = positionOf(point.position_long, point.position_lat, undefined)
    if (position === undefined) return []
    const type = typeof point.type === "string" && point.type !== "generic" ? point.type : undefined
    return [{ coord: coordOf(position), name: point.name, type, timestamp: undefined }]
  })

const sportOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "generic" ? value : undefined

/** Counts records without a position, which sensors write indoors. */
export const readFit = Effect.fnUntraced(function*(bytes: Uint8Array): Effect.fn.Return<DraftFile, InvalidInput> {
  if (bytes.length > MAX_FIT_BYTES) {
    return yield* InvalidInput.at("", `Expected a FIT file of at most ${MAX_FIT_BYTES} bytes`)
  }
  if (hasTooManyMessages(bytes)) {
    return yield* InvalidInput.at(
      "",
      `Expected a FIT file of at most ${MAX_MESSAGES} messages, with ${MAX_FIELDS} fields together`
    )
  }
  const fit = yield* parsed(bytes)
  const { course_points = [], records = [] } = fit
  if (records.length > MAX_READ_POSITIONS) return yield* tooMany("records", records.length, MAX_READ_POSITIONS)
  const placedRecords = records.flatMap(placed)
  const parts = partsOf(placedRecords, fit)
  const points = course_points.slice(0, markedWaypoints(fit.file_ids?.[0]?.product_name))
  const waypoints = waypointsOf(points)
  if (waypoints.length > MAX_WAYPOINTS) return yield* tooMany("waypoints", waypoints.length, MAX_WAYPOINTS)
  const course = fit.messages?.course?.[0]
  const file: DraftFile = {
    ...NOTHING_SAID,
    tracks: [{
      ...NOTHING_SAID,
      names: [course?.name],
      activity: sportOf(course?.sport ?? fit.sessions?.[0]?.sport ?? fit.sports?.[0]?.sport),
      waypoints,
      segments: parts.filter(({ length }) => length > 0).map((part) => part.map(({ position }) => position)),
      // The times of a course are those of a virtual partner; a lap has the planned time.
      seconds: course === undefined
        ? durationOf(parts, isoOf)
        : sumOf((fit.laps ?? []).map(({ total_timer_time }) => total_timer_time))
    }],
    dropped: [
      ...droppedIf(records.length - placedRecords.length, "record", "it has no position"),
      ...droppedIf(chainedFilesOf(bytes), "FIT file", "only the first of several that follow each other is read"),
      ...droppedIf(points.length - waypoints.length, "course_point", "it has no position"),
      ...droppedIf(course_points.length - points.length, "course_point", "it is a cue, which FIT does not carry whole")
    ]
  }
  return file
})

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
const EVENT_STOP_DISABLE_ALL = 9
const GENERIC_POINT = 0

const SPORTS: Record<Activity, number> = { run: 1, cycle: 2, walk: 11 }
const GENERIC_SPORT = 0

/** The version is 2.0: its upper four bits are the major version. */
const PROTOCOL_VERSION = 0x20

/** FIT reads smaller numbers as seconds since power-on. */
const LEAST_INSTANT = Date.UTC(2000, 0)

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

/** The largest number of the type that is a value. */
const MAX_UINT32 = 2 ** 32 - 2
const uint32 = (number: number, value: number) => field(4, FitBaseType.Uint32)(number, Math.min(value, MAX_UINT32))
const sint32 = field(4, FitBaseType.Sint32)

// 180 degrees would be one more than the largest number: the last one is practically the same meridian.
const semicircles = (number: number, degrees: number) =>
  sint32(number, Math.min(Math.round(degrees * 2 ** 31 / 180), 2 ** 31 - 2))

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
  uint32(5, centimetres(metres)),
  ...(elevation === undefined ? [] : [uint32(78, altitude(elevation))])
]

/** Writes a course with the duration of the route, or a second for each position. */
export const writeFit = (
  { activity, createdAt, cues = [], duration, geometry, name, waypoints }: WrittenRoute
): Uint8Array => {
  const encoder = new FitEncoder({ protocolVersion: PROTOCOL_VERSION })
  const start = FitEncoder.toFitTimestamp(new Date(Math.max(LEAST_INSTANT, Date.parse(createdAt ?? "") || 0)))
  const distances = metresAlong(coordinatesOf(geometry))
  const length = distances.at(-1) ?? 0
  const timeAt = (index: number) =>
    start + (duration === undefined || length === 0 ? index : Math.round(duration * (distances[index] ?? 0) / length))
  const end = timeAt(Math.max(0, geometry.length - 1))
  const last = geometry.at(-1)

  const cuesOnLine = cues.filter(({ begin_shape_index }) => geometry[begin_shape_index] !== undefined)

  encoder.writeMessage(FILE_ID, [
    enumerated(0, FILE_TYPE_COURSE),
    uint16(1, MANUFACTURER_DEVELOPMENT),
    uint16(2, 0),
    uint32(4, start),
    ...(cuesOnLine.length === 0 ? [] : [text(8, waypointMark(waypoints.length), MAX_TEXT_BYTES)])
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
    ...(duration === undefined ? [] : [uint32(7, milliseconds(duration)), uint32(8, milliseconds(duration))]),
    uint32(9, centimetres(length))
  ])
  encoder.writeMessage(EVENT, [uint32(TIMESTAMP, start), enumerated(0, EVENT_TIMER), enumerated(1, EVENT_START)])
  for (const [index, position] of geometry.entries()) {
    encoder.writeMessage(RECORD, recordOf(position, timeAt(index), distances[index] ?? 0), 1)
  }
  const nearest = new NearestPositions(geometry, waypoints.length)
  for (const [index, { coord, name }] of waypoints.entries()) {
    const at = nearest.indexOf(coord)
    encoder.writeMessage(COURSE_POINT, [
      uint16(254, index),
      uint32(1, timeAt(at)),
      semicircles(2, coord[1]),
      semicircles(3, coord[0]),
      uint32(4, centimetres(distances[at] ?? 0)),
      enumerated(5, GENERIC_POINT),
      ...(name === undefined || name === null || name === "" ? [] : [text(6, name, MAX_POINT_NAME_BYTES)])
    ], 2)
  }
  for (const [index, cue] of cuesOnLine.entries()) {
    const at = cue.begin_shape_index
    const [lng, lat] = geometry[at] ?? [0, 0]
    encoder.writeMessage(COURSE_POINT, [
      uint16(254, waypoints.length + index),
      uint32(1, timeAt(at)),
      semicircles(2, lat),
      semicircles(3, lng),
      uint32(4, centimetres(distances[at] ?? 0)),
      enumerated(5, turnOf(cue).fit),
      text(6, cue.instruction === "" ? turnOf(cue).name : cue.instruction, MAX_POINT_NAME_BYTES)
    ], 2)
  }
  encoder.writeMessage(EVENT, [
    uint32(TIMESTAMP, end),
    enumerated(0, EVENT_TIMER),
    enumerated(1, EVENT_STOP_DISABLE_ALL)
  ])
  return encoder.close()
}
