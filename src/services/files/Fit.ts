import { Effect, Option } from "effect"
import FitParser, { type ParsedFit } from "fit-file-parser"
import { type FitRawMessage, readFitMessages } from "fit-file-parser/raw"
import type { Position } from "../../schema/Geometry.ts"
import { MAX_FIT_BYTES } from "../../schema/Import.ts"
import { recordedAtOf } from "../../schema/Measures.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { maneuverOf, markedWaypoints, pointTypeOf, type ShapingPoint, turnTypeOf, withShaping } from "./CoursePoints.ts"
import {
  type DraftFile,
  type DraftTrack,
  type DraftWaypoint,
  droppedIf,
  NOTHING_SAID,
  separate,
  UNUSED,
  withoutEmptyTracks
} from "./Draft.ts"
import {
  coordOf,
  finiteOf,
  type OwnMeasures,
  positionOf,
  soundTimes,
  stringOf,
  sumOf,
  timesInOrder
} from "./FileValues.ts"
import {
  chainedFiles,
  type FitRoom,
  MAX_FIELDS,
  MAX_MESSAGES,
  OWN_CUE,
  OWN_MEASURES,
  roomOfFit,
  SEMICIRCLES,
  SHAPING_POINT,
  wholeFit
} from "./FitBytes.ts"
import { COARSE_FIELD, OWN_KILOMETRES, OWN_METRES, OWN_SECONDS, type OwnScale } from "./FitWriter.ts"
import { type Placed, placedPoints, placedTracks, segmentsOf } from "./Positions.ts"

type FitRecord = NonNullable<ParsedFit["records"]>[number]

const parsed = (bytes: Uint8Array) =>
  Effect.tryPromise({
    try: () => new FitParser({ force: true }).parseAsync(Buffer.from(bytes)),
    catch: (error) => InvalidInput.at("", `Malformed FIT: ${error instanceof Error ? error.message : error}`)
  })

interface Fix {
  readonly position: Position
  /** The time is in milliseconds; it is not a number if the record has none, or one that runs backwards. */
  readonly time: number
}

/** The parser lets a developer field replace the field of the profile with its name, whatever the types are. */
const millisecondsOf = (value: unknown) => value instanceof Date ? value.getTime() : undefined

const timeOf = ({ timestamp }: { readonly timestamp?: Date }) => millisecondsOf(timestamp) ?? Number.NaN

const fixesOf = (records: ReadonlyArray<FitRecord>): ReadonlyArray<Fix> => {
  const times = timesInOrder(records.map(timeOf))
  return records.flatMap((record, index) => {
    const elevation = finiteOf(record.enhanced_altitude) ?? finiteOf(record.altitude)
    const position = positionOf(
      finiteOf(record.position_long),
      finiteOf(record.position_lat),
      elevation === undefined ? undefined : Math.round(10 * elevation) / 10
    )
    return position === undefined ? [] : [{ position, time: times[index] ?? Number.NaN }]
  })
}

const partsOf = (fixes: ReadonlyArray<Fix>, { events = [] }: ParsedFit): ReadonlyArray<ReadonlyArray<Fix>> => {
  const stops = events.filter(({ event, event_type }) =>
    event === "timer" && (event_type === "stop_all" || event_type === "stop")
  ).map(timeOf).filter(Number.isFinite).toSorted((a, b) => a - b)
  const parts: Array<Array<Fix>> = [[]]
  const next = { stop: 0 }
  for (const fix of fixes) {
    if ((stops[next.stop] ?? Infinity) < fix.time) parts.push([])
    while ((stops[next.stop] ?? Infinity) < fix.time) next.stop++
    parts.at(-1)?.push(fix)
  }
  return parts
}

type Session = NonNullable<ParsedFit["sessions"]>[number]

/** A session is written when it ends. */
const afterSession = (before: Session | undefined) => before === undefined ? Number.NaN : timeOf(before) + 1

/** Gives each session what was recorded from its start on, or since the one before ended. */
const bySession = (sessions: ReadonlyArray<Session>, fixes: ReadonlyArray<Fix>) => {
  const starts = sessions.map(({ start_time }, index) =>
    millisecondsOf(start_time) ?? afterSession(sessions[index - 1])
  )
  const own = sessions.map((): Array<Fix> => [])
  const current = { session: 0 }
  for (const fix of fixes) {
    while ((starts[current.session + 1] ?? Infinity) <= fix.time) current.session++
    own[current.session]?.push(fix)
  }
  return own
}

/** A pause may be long: only within a part are times unsound that are far from the others. */
const soundTimesOf = (part: ReadonlyArray<Fix>) => soundTimes(part.map(({ time }) => time)).filter(Number.isFinite)

const recordedSeconds = (parts: ReadonlyArray<ReadonlyArray<Fix>>) =>
  positiveOf(sumOf(parts.map((part) => {
    const times = soundTimesOf(part)
    const [first] = times
    const last = times.at(-1)
    return first === undefined || last === undefined ? undefined : (last - first) / 1000
  })))

const positiveOf = (seconds: number | undefined) => seconds !== undefined && seconds > 0 ? seconds : undefined

type CoursePoint = NonNullable<ParsedFit["course_points"]>[number]

const positionOfPoint = ({ position_lat, position_long }: CoursePoint) =>
  positionOf(finiteOf(position_long), finiteOf(position_lat), undefined)

/** The parser gives a kind that the profile of FIT does not have as its number. */
const kindOf = ({ type }: CoursePoint) => stringOf(type)

const turnIn = (point: CoursePoint) => turnTypeOf(kindOf(point))

const waypointOf = (point: CoursePoint, position: Position, mayBeTurn: boolean): DraftWaypoint => ({
  coord: coordOf(position),
  name: stringOf(point.name),
  type: pointTypeOf(kindOf(point)),
  timestamp: undefined,
  turn: mayBeTurn ? turnIn(point) : undefined
})

/** In a file of this service points with smaller indexes are waypoints, and others, also beyond 12 bits, are cues. */
const isCueFrom = (own: number) => ({ message_index }: CoursePoint) =>
  own !== Infinity && (message_index?.reserved === true || (message_index?.value ?? 0) >= own)

/** Makes cues of turns. */
const courseWaypoints = Effect.fnUntraced(function*(
  all: ReadonlyArray<CoursePoint>,
  own: number,
  tracks: ReadonlyArray<ReadonlyArray<Placed<Fix>>>
) {
  const points = all.map((point) => ({ point, isCue: isCueFrom(own)(point) }))
  const kinds = points.filter(({ isCue, point }) => !isCue || turnIn(point) !== undefined)
  const located = kinds.filter(({ point }) => positionOfPoint(point) !== undefined)
  const placed = yield* placedPoints(located, ({ point }) => positionOfPoint(point), "course_point", tracks)
  return {
    waypoints: placed.points.map(([{ isCue, point }, position]) =>
      waypointOf(point, position, isCue || own === Infinity)
    ),
    dropped: [
      ...droppedIf(kinds.length - located.length, "course_point", "it has no position"),
      ...droppedIf(points.length - kinds.length, "course_point", "it is a cue without a kind"),
      ...placed.dropped
    ]
  }
})

const sportOf = (value: unknown) => value === "generic" ? undefined : stringOf(value)

interface Part {
  readonly session: Session | undefined
  readonly parts: ReadonlyArray<ReadonlyArray<Fix>>
}

const instantOf = ({ start_time, timestamp }: Session) =>
  millisecondsOf(start_time) ?? millisecondsOf(timestamp) ?? -Infinity

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
    ? positiveOf(finiteOf(session?.total_timer_time)) ?? recordedSeconds(parts)
    : positiveOf(sumOf((fit.laps ?? []).map(({ total_timer_time }) => finiteOf(total_timer_time))))

const recordedAt = (fit: ParsedFit, { parts, session }: Part) => {
  if (fit.messages?.course !== undefined) return undefined
  const first = parts.flatMap(soundTimesOf)[0] ?? Number.NaN
  return recordedAtOf(millisecondsOf(session?.start_time) ?? first) ?? recordedAtOf(first)
}

const degreesOf = (semicircles: number) => semicircles * 180 / SEMICIRCLES

const numberIn = ({ fields, littleEndian }: FitRawMessage, number: number): number | undefined => {
  const bytes = fields.find(({ fieldNumber }) => fieldNumber === number)?.bytes
  if (bytes?.length !== 4) return undefined
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getInt32(0, littleEndian)
}

const readMessages = Option.liftThrowable((bytes: Uint8Array) =>
  readFitMessages(bytes, { messageNumbers: [SHAPING_POINT, OWN_MEASURES, OWN_CUE] }).messages
)

/** A damaged file keeps its line, but not these messages. */
const ownMessages = (bytes: Uint8Array) =>
  Map.groupBy(Option.getOrElse(readMessages(bytes), () => []), ({ globalMessageNumber }) => globalMessageNumber)

const shapingIn = (messages: ReadonlyArray<FitRawMessage>): ReadonlyArray<ShapingPoint> =>
  messages.flatMap((message) => {
    const [index = Number.NaN, lat = Number.NaN, lng = Number.NaN] = [0, 1, 2].map((number) =>
      numberIn(message, number)
    )
    const position = positionOf(degreesOf(lng), degreesOf(lat), undefined)
    return position === undefined || !(index >= 0) ? [] : [{ index, coord: coordOf(position), timestamp: undefined }]
  })

const unsigned = (number: number) => number >>> 0

const measureIn = (message: FitRawMessage, number: number, { coarse, fine }: OwnScale) => {
  const large = numberIn(message, number + COARSE_FIELD)
  const value = numberIn(message, number)
  if (large !== undefined) return unsigned(large) / coarse
  return value === undefined ? undefined : unsigned(value) / fine
}

const measuresIn = ([message]: ReadonlyArray<FitRawMessage>): OwnMeasures | undefined => {
  if (message === undefined) return undefined
  const [line, distance, elevationGain] = [0, 1, 2].map((number) => measureIn(message, number, OWN_METRES))
  const duration = measureIn(message, 3, OWN_SECONDS)
  return line === undefined ? undefined : {
    line,
    ...(distance === undefined ? {} : { distance }),
    ...(duration === undefined ? {} : { duration }),
    ...(elevationGain === undefined ? {} : { elevationGain })
  }
}

/** The course points that are no waypoints have the instructions of the cues. */
const cuesIn = (messages: ReadonlyArray<FitRawMessage>, points: ReadonlyArray<CoursePoint>) =>
  messages.flatMap((message, index) => {
    const numberAt = (number: number) => unsigned(numberIn(message, number) ?? 0)
    const [length, time] = [measureIn(message, 2, OWN_KILOMETRES) ?? 0, measureIn(message, 3, OWN_SECONDS) ?? 0]
    return maneuverOf([numberAt(0), numberAt(1), length, time].join(" "), points[index]?.name) ?? []
  })

const SENSORS = ["heart_rate", "cadence", "power", "temperature"] as const

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
  const { dropped, tracks } = yield* placedTracks(
    sessions.map(({ parts }) => parts),
    ({ position }) => position,
    "record"
  )
  const own = markedWaypoints(fit.file_ids?.[0]?.product_name)
  const isCue = isCueFrom(own)
  const messages = own === Infinity ? new Map<number, ReadonlyArray<FitRawMessage>>() : ownMessages(given)
  const cues = cuesIn(messages.get(OWN_CUE) ?? [], course_points.filter(isCue))
  const others = cues.length === 0 ? course_points : course_points.filter((point) => !isCue(point))
  const points = yield* courseWaypoints(others, own, tracks)
  const course = fit.messages?.course?.[0]
  const file: DraftFile = {
    ...NOTHING_SAID,
    waypoints: withShaping(points.waypoints, shapingIn(messages.get(SHAPING_POINT) ?? [])),
    cues,
    measures: measuresIn(messages.get(OWN_MEASURES) ?? []),
    tracks: sessions.map((part, index): DraftTrack => ({
      names: [
        stringOf(course?.name),
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
      ...droppedIf(
        records.filter((record) => SENSORS.some((name) => finiteOf(record[name]) !== undefined)).length,
        "heart rate, cadence, power or temperature of record",
        UNUSED
      ),
      ...dropped,
      ...points.dropped
    ]
  }
  return file
})

/** A file that cannot be read does not stop the others. */
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
