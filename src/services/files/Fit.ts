import { Effect, Option } from "effect"
import FitParser, { type ParsedFit } from "fit-file-parser"
import { FitBaseType, FitEncoder, type FitEncoderField } from "fit-file-parser/encoder"
import { type FitRawMessage, readFitMessages } from "fit-file-parser/raw"
import type { Position } from "../../schema/Geometry.ts"
import { recordedAtOf } from "../../schema/Measures.ts"
import type { Activity } from "../../schema/Preferences.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { coordinatesOf, metresAlong, NO_GAPS, rangesOf } from "../geometry/Geodesy.ts"
import { coursePointOf, markedWaypoints, pointTypeOf, turnOf, turnTypeOf, waypointMark } from "./CourseTurns.ts"
import {
  type DraftFile,
  type DraftTrack,
  type DraftWaypoint,
  droppedIf,
  NOTHING_SAID,
  separate,
  withoutEmptyTracks,
  type WrittenRoute
} from "./Draft.ts"
import { coordOf, positionOf, sumOf } from "./FileValues.ts"
import { chainedFiles, type FitRoom, MAX_FIELDS, MAX_MESSAGES, roomOfFit, wholeFit } from "./FitBytes.ts"
import { NearestPositions } from "./NearestPositions.ts"
import { type Placed, placedPoints, placedTracks, segmentsOf } from "./Positions.ts"
import { isShaping, type ShapingPoint, shapingPoints, withShaping } from "./ShapingPoints.ts"
import { soundTimes } from "./TrackTimes.ts"

type FitRecord = NonNullable<ParsedFit["records"]>[number]

/** A day with a record a second has 3.5 MiB. */
const MAX_FIT_BYTES = 4 * 1024 * 1024

const parsed = (bytes: Uint8Array) =>
  Effect.callback<ParsedFit, InvalidInput>((resume) => {
    const fail = (error: unknown) =>
      resume(Effect.fail(InvalidInput.at("", `Malformed FIT: ${error instanceof Error ? error.message : error}`)))
    try {
      new FitParser({ force: true }).parse(Buffer.from(bytes), (error, data) => {
        if (data === undefined) fail(error ?? "it has no data")
        else resume(Effect.succeed(data))
      })
    } catch (error) {
      fail(error)
    }
  })

interface Fix {
  readonly position: Position
  /** Milliseconds; not a number if the record has none, or an impossible one. */
  readonly time: number
}

const timeOf = ({ timestamp }: { readonly timestamp?: Date }) => timestamp?.getTime() ?? Number.NaN

const fixesOf = (records: ReadonlyArray<FitRecord>): ReadonlyArray<Fix> => {
  const times = soundTimes(records.map(timeOf))
  return records.flatMap((record, index) => {
    const elevation = record.enhanced_altitude ?? record.altitude
    const position = positionOf(record.position_long, record.position_lat, elevation)
    return position === undefined ? [] : [{ position, time: times[index] ?? Number.NaN }]
  })
}

const partsOf = (fixes: ReadonlyArray<Fix>, { events = [] }: ParsedFit): ReadonlyArray<ReadonlyArray<Fix>> => {
  const stops = events.filter(({ event, event_type }) =>
    event === "timer" && (event_type === "stop_all" || event_type === "stop")
  ).map(timeOf).toSorted((a, b) => a - b)
  const parts: Array<Array<Fix>> = [[]]
  const next = { stop: 0 }
  for (const fix of fixes) {
    const stop = stops[next.stop] ?? Infinity
    if (fix.time > stop && (parts.at(-1)?.length ?? 0) > 0) parts.push([])
    while ((stops[next.stop] ?? Infinity) < fix.time) next.stop++
    parts.at(-1)?.push(fix)
  }
  return parts
}

type Session = NonNullable<ParsedFit["sessions"]>[number]

/** A session is written when it ends. */
const endOf = ({ timestamp }: Session) => timestamp?.getTime() ?? Number.NaN

const afterSession = (before: Session | undefined) => before === undefined ? Number.NaN : endOf(before) + 1

/** Gives each session what was recorded from its start on, or since the one before ended. */
const bySession = (sessions: ReadonlyArray<Session>, fixes: ReadonlyArray<Fix>) => {
  const starts = sessions.map(({ start_time }, index) => start_time?.getTime() ?? afterSession(sessions[index - 1]))
  const own = sessions.map((): Array<Fix> => [])
  const current = { session: 0 }
  for (const fix of fixes) {
    while ((starts[current.session + 1] ?? Infinity) <= fix.time) current.session++
    own[current.session]?.push(fix)
  }
  return own
}

const recordedSeconds = (parts: ReadonlyArray<ReadonlyArray<Fix>>) =>
  positiveOf(sumOf(parts.map((part) => {
    const times = part.map(({ time }) => time).filter(Number.isFinite)
    return times.length < 2 ? undefined : ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000
  })))

const positiveOf = (seconds: number | undefined) => seconds !== undefined && seconds > 0 ? seconds : undefined

type CoursePoint = NonNullable<ParsedFit["course_points"]>[number]

const positionOfPoint = ({ position_lat, position_long }: CoursePoint) =>
  positionOf(position_long, position_lat, undefined)

const kindOf = ({ type }: CoursePoint) => {
  const kind: unknown = type
  return typeof kind === "string" || typeof kind === "number" ? kind : undefined
}

const turnIn = (point: CoursePoint) => {
  const kind = kindOf(point)
  return typeof kind === "string" ? turnTypeOf(kind) : undefined
}

const waypointOf = (point: CoursePoint, position: Position, mayBeTurn: boolean): DraftWaypoint => ({
  coord: coordOf(position),
  name: point.name,
  type: pointTypeOf(kindOf(point)),
  timestamp: undefined,
  turn: mayBeTurn ? turnIn(point) : undefined
})

/**
 * Points of other programs that are turns become cues. In a file of this service the first `own` are waypoints and stay what
 * they are, the others are cues.
 */
const courseWaypoints = Effect.fnUntraced(function*(
  all: ReadonlyArray<CoursePoint>,
  own: number,
  tracks: ReadonlyArray<ReadonlyArray<Placed<Fix>>>
) {
  const points = all.map((point, index) => ({ point, isCue: index >= own }))
  const kinds = points.filter(({ isCue, point }) => !isCue || turnIn(point) !== undefined)
  const located = kinds.filter(({ point }) => positionOfPoint(point) !== undefined)
  const { dropped, points: placed } = yield* placedPoints(located, ({ point }) => positionOfPoint(point), {
    what: "waypoints",
    path: "course_point"
  }, tracks)
  return {
    waypoints: placed.positions.flatMap((position, index) => {
      const item = placed.items[index]
      return item === undefined ? [] : [waypointOf(item.point, position, item.isCue || own === Infinity)]
    }),
    dropped: [
      ...droppedIf(kinds.length - located.length, "course_point", "it has no position"),
      ...droppedIf(points.length - kinds.length, "course_point", "it is a cue without a kind"),
      ...dropped
    ]
  }
})

const sportOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "generic" ? value : undefined

interface Part {
  readonly session: Session | undefined
  readonly parts: ReadonlyArray<ReadonlyArray<Fix>>
}

const instantOf = (session: Session) => session.start_time?.getTime() ?? (endOf(session) || 0)

/** Sessions are activities of their own, one after the other. */
const sessionsOf = (fit: ParsedFit, fixes: ReadonlyArray<Fix>): ReadonlyArray<Part> => {
  const sessions = fit.messages?.course === undefined ? fit.sessions ?? [] : []
  if (sessions.length < 2) return [{ session: fit.sessions?.[0], parts: partsOf(fixes, fit) }]
  const ordered = sessions.toSorted((a, b) => instantOf(a) - instantOf(b))
  const own = bySession(ordered, fixes)
  return ordered.map((session, index) => ({ session, parts: partsOf(own[index] ?? [], fit) }))
}

/** The times of a course are those of a virtual partner; a lap has the planned time. */
const secondsOf = (fit: ParsedFit, { parts, session }: Part) =>
  fit.messages?.course === undefined
    ? positiveOf(session?.total_timer_time) ?? recordedSeconds(parts)
    : positiveOf(sumOf((fit.laps ?? []).map(({ total_timer_time }) => total_timer_time)))

const recordedAt = (fit: ParsedFit, { parts, session }: Part) => {
  if (fit.messages?.course !== undefined) return undefined
  const first = parts.flat().find(({ time }) => Number.isFinite(time))?.time ?? Number.NaN
  return recordedAtOf(session?.start_time?.getTime() ?? first) ?? recordedAtOf(first)
}

/** A number for messages of manufacturers (FIT protocol, `mesg_num`), which other readers pass over. */
const SHAPING_POINT = 0xff00

const numberIn = ({ fields, littleEndian }: FitRawMessage, number: number): number => {
  const bytes = fields.find(({ fieldNumber }) => fieldNumber === number)?.bytes
  if (bytes?.length !== 4) return Number.NaN
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getInt32(0, littleEndian)
}

const readMessages = Option.liftThrowable((bytes: Uint8Array) =>
  readFitMessages(bytes, { messageNumbers: [SHAPING_POINT] }).messages
)

/** A damaged file keeps its line, and not these. */
const shapingIn = (bytes: Uint8Array): ReadonlyArray<ShapingPoint> =>
  Option.getOrElse(readMessages(bytes), () => []).flatMap((message) => {
    const [index = Number.NaN, lat = Number.NaN, lng = Number.NaN] = [0, 1, 2].map((number) =>
      numberIn(message, number)
    )
    const position = positionOf(degreesOf(lng), degreesOf(lat), undefined)
    return position === undefined || !(index >= 0) ? [] : [{ index, coord: coordOf(position), timestamp: undefined }]
  })

/** Counts records without a position, which sensors write indoors. */
const readOne = Effect.fnUntraced(function*(given: Uint8Array, room: FitRoom, isOnly: boolean) {
  const { bytes, dropped: damage, isTooLong } = wholeFit(given, room)
  if (isTooLong) {
    return yield* InvalidInput.at(
      "",
      `Expected a FIT file of at most ${MAX_MESSAGES} messages, with ${MAX_FIELDS} fields together`
    )
  }
  const fit = yield* parsed(bytes)
  const { course_points = [], records = [] } = fit
  const fixes = fixesOf(records)
  const sessions = sessionsOf(fit, fixes)
  const { dropped, tracks } = yield* placedTracks(sessions.map(({ parts }) => parts), ({ position }) => position, {
    what: "records",
    path: "record"
  })
  const own = markedWaypoints(fit.file_ids?.[0]?.product_name)
  const points = yield* courseWaypoints(course_points, own, tracks)
  const course = fit.messages?.course?.[0]
  const file: DraftFile = {
    ...NOTHING_SAID,
    waypoints: withShaping(points.waypoints, own === Infinity ? [] : shapingIn(given)),
    tracks: sessions.map((part, index): DraftTrack => ({
      names: [
        course?.name,
        isOnly && sessions.length < 2 ? undefined : sportOf(part.session?.sport)?.replaceAll("_", " ")
      ],
      descriptions: [],
      tags: [],
      waypoints: [],
      activity: sportOf(course?.sport ?? part.session?.sport ?? fit.sports?.[0]?.sport),
      segments: segmentsOf(tracks[index] ?? []),
      seconds: secondsOf(fit, part),
      recordedAt: recordedAt(fit, part)
    })),
    dropped: [
      ...damage,
      ...droppedIf(records.length - fixes.length, "record", "it has no position"),
      ...dropped,
      ...points.dropped
    ]
  }
  return file
})

/** One that cannot be read does not stop the others. */
const unread = ({ message }: InvalidInput) =>
  Effect.succeed<DraftFile>({ ...NOTHING_SAID, tracks: [], dropped: [{ what: "FIT file", why: message, count: 1 }] })

/** Reads a FIT file, or several that follow each other, whose tracks are one list. */
export const readFit = Effect.fnUntraced(function*(given: Uint8Array): Effect.fn.Return<DraftFile, InvalidInput> {
  if (given.length > MAX_FIT_BYTES) {
    return yield* InvalidInput.at("", `Expected a FIT file of at most ${MAX_FIT_BYTES} bytes`)
  }
  const room = roomOfFit()
  const chained = chainedFiles(given)
  if (chained.length === 1) return withoutEmptyTracks(yield* readOne(given, room, true))
  const files = yield* Effect.forEach(
    chained,
    (bytes) => readOne(bytes, room, false).pipe(Effect.catchTag("InvalidInput", unread))
  )
  const file: DraftFile = {
    ...NOTHING_SAID,
    tracks: files.flatMap(separate),
    dropped: files.flatMap(({ dropped }) => dropped)
  }
  return withoutEmptyTracks(file)
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
const EVENT_STOP_ALL = 4
const EVENT_STOP_DISABLE_ALL = 9

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

const SEMICIRCLES = 2 ** 31

const degreesOf = (semicircles: number) => semicircles * 180 / SEMICIRCLES

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
  uint32(5, centimetres(metres)),
  ...(elevation === undefined ? [] : [uint32(78, altitude(elevation))])
]

const timerEvent = (time: number, type: number): Array<FitEncoderField> => [
  uint32(TIMESTAMP, time),
  enumerated(0, EVENT_TIMER),
  enumerated(1, type)
]

/**
 * Writes a course with the duration of the route, or a second for each position. At a gap the timer stops for a second, by
 * which a reader knows it.
 */
export const writeFit = (
  { activity, createdAt, cues = [], duration, geometry, name, recordedAt, segments = NO_GAPS, waypoints: all }:
    WrittenRoute
): Uint8Array => {
  const encoder = new FitEncoder({ protocolVersion: PROTOCOL_VERSION })
  const start = FitEncoder.toFitTimestamp(
    new Date(Math.max(LEAST_INSTANT, Date.parse(recordedAt ?? createdAt ?? "") || 0))
  )
  const distances = metresAlong(coordinatesOf(geometry), segments)
  const length = distances.at(-1) ?? 0
  const ranges = rangesOf(geometry.length, segments)
  const pauses = Math.max(0, ranges.length - 1)
  const times = new Float64Array(geometry.length)
  for (const [pause, { from, to }] of ranges.entries()) {
    for (let index = from; index < to; index++) {
      const seconds = duration === undefined || length === 0 ? index : duration * (distances[index] ?? 0) / length
      times[index] = start + pause + Math.round(seconds)
    }
  }
  const timeAt = (index: number) => times[index] ?? start
  const end = timeAt(Math.max(0, geometry.length - 1))
  const last = geometry.at(-1)

  const waypoints = all.filter((waypoint) => !isShaping(waypoint))
  const cuesOnLine = cues.filter(({ begin_shape_index }) => geometry[begin_shape_index] !== undefined)

  encoder.writeMessage(FILE_ID, [
    enumerated(0, FILE_TYPE_COURSE),
    uint16(1, MANUFACTURER_DEVELOPMENT),
    uint16(2, 0),
    uint32(4, start),
    text(8, waypointMark(waypoints.length), MAX_TEXT_BYTES)
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
    ...(duration === undefined ? [] : [uint32(7, milliseconds(duration + pauses)), uint32(8, milliseconds(duration))]),
    uint32(9, centimetres(length))
  ])
  encoder.writeMessage(EVENT, timerEvent(start, EVENT_START))
  const starts = new Set(ranges.slice(1).map(({ from }) => from))
  for (const [index, position] of geometry.entries()) {
    if (starts.has(index)) {
      encoder.writeMessage(EVENT, timerEvent(timeAt(index - 1), EVENT_STOP_ALL))
      encoder.writeMessage(EVENT, timerEvent(timeAt(index), EVENT_START))
    }
    encoder.writeMessage(RECORD, recordOf(position, timeAt(index), distances[index] ?? 0), 1)
  }
  for (const { coord: [lng, lat], index } of shapingPoints(all)) {
    encoder.writeMessage(SHAPING_POINT, [sint32(0, index), semicircles(1, lat), semicircles(2, lng)], 3)
  }
  const nearest = new NearestPositions(geometry, waypoints.length)
  for (const [index, { coord, name, type }] of waypoints.entries()) {
    const at = nearest.indexOf(coord)
    encoder.writeMessage(COURSE_POINT, [
      uint16(254, index),
      uint32(1, timeAt(at)),
      semicircles(2, coord[1]),
      semicircles(3, coord[0]),
      uint32(4, centimetres(distances[at] ?? 0)),
      enumerated(5, coursePointOf(type).fit),
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
  encoder.writeMessage(EVENT, timerEvent(end, EVENT_STOP_DISABLE_ALL))
  return encoder.close()
}
