import { Effect } from "effect"
import FitParser, { type ParsedFit } from "fit-file-parser"
import type { Position } from "../../../schema/Geometry.ts"
import { MAX_WAYPOINTS } from "../../../schema/Route.ts"
import { InvalidInput } from "../../DomainErrors.ts"
import { markedWaypoints } from "../draft/CourseTurns.ts"
import { type DraftFile, type DraftWaypoint, droppedIf, NOTHING_SAID } from "../draft/Document.ts"
import { coordOf, MAX_READ_POSITIONS, positionOf, tooMany } from "../draft/Numbers.ts"
import { durationOf, sumOf } from "../draft/Times.ts"
import { chainedFilesOf, hasTooManyMessages, MAX_FIELDS, MAX_MESSAGES } from "./FitMessages.ts"

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
