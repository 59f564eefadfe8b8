import { Effect } from "effect"
import FitParser, { type ParsedFit } from "fit-file-parser"
import { ValidationFailed } from "../../../schema/Errors.ts"
import type { Position } from "../../../schema/Geometry.ts"
import { MAX_WAYPOINTS } from "../../../schema/Route.ts"
import type { DraftFile, DraftWaypoint, Dropped } from "../Document.ts"
import { coordOf, inGroups, MAX_READ_POSITIONS, positionOf, tooMany } from "../Numbers.ts"
import { durationOf, sumOf } from "../Times.ts"
import { hasTooManyMessages, MAX_FIELDS, MAX_MESSAGES } from "./FitMessages.ts"

type FitRecord = NonNullable<ParsedFit["records"]>[number]

/** A day of a record a second has 3.5 MiB. */
const MAX_FIT_BYTES = 4 * 1024 * 1024

const parsed = (bytes: Uint8Array) =>
  Effect.callback<ParsedFit, ValidationFailed>((resume) => {
    const fail = (error: unknown) =>
      resume(Effect.fail(ValidationFailed.at("", `Malformed FIT: ${error instanceof Error ? error.message : error}`)))
    try {
      // Strict: it checks the CRC of the file.
      new FitParser({ force: false }).parse(Buffer.from(bytes), (error, data) => {
        if (data === undefined) fail(error ?? "it has no data")
        else resume(Effect.succeed(data))
      })
    } catch (error) {
      fail(error)
    }
  })

const placeOf = (point: { readonly position_lat?: number; readonly position_long?: number }, elevation?: number) =>
  positionOf(point.position_long, point.position_lat, elevation)

const elevationOf = (record: FitRecord) => record.enhanced_altitude ?? record.altitude

const timeOf = ({ timestamp }: FitRecord) => timestamp?.getTime() ?? Number.NaN

const isoOf = (record: FitRecord): string | undefined => {
  const time = timeOf(record)
  return Number.isFinite(time) ? new Date(time).toISOString() : undefined
}

/** A timer that was stopped between two records leaves a gap. */
const partsOf = (records: ReadonlyArray<FitRecord>, { events = [] }: ParsedFit) => {
  const stops = events.filter(({ event, event_type }) =>
    event === "timer" && (event_type === "stop_all" || event_type === "stop")
  ).map(({ timestamp }) => timestamp?.getTime() ?? Number.NaN).toSorted((a, b) => a - b)
  const parts: Array<Array<FitRecord>> = [[]]
  const next = { stop: 0 }
  for (const record of records) {
    const stop = stops[next.stop] ?? Infinity
    if (timeOf(record) > stop && (parts.at(-1)?.length ?? 0) > 0) parts.push([])
    while ((stops[next.stop] ?? Infinity) < timeOf(record)) next.stop++
    parts.at(-1)?.push(record)
  }
  return parts
}

const waypointsOf = ({ course_points = [] }: ParsedFit): ReadonlyArray<DraftWaypoint> =>
  course_points.flatMap((point) => {
    const position = placeOf(point)
    if (position === undefined) return []
    const type = typeof point.type === "string" && point.type !== "generic" ? point.type : undefined
    return [{ coord: coordOf(position), name: point.name, type, timestamp: undefined }]
  })

const droppedIf = (count: number, what: string, why: string): ReadonlyArray<Dropped> =>
  count === 0 ? [] : [{ what, why, count }]

const textOf = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

/** Reads a course or an activity of FIT. A record without a position, as sensors make them indoors, is counted. */
export const readFit = Effect.fnUntraced(function*(bytes: Uint8Array): Effect.fn.Return<DraftFile, ValidationFailed> {
  if (bytes.length > MAX_FIT_BYTES) return yield* ValidationFailed.at("", `A FIT file may have ${MAX_FIT_BYTES} bytes`)
  if (hasTooManyMessages(bytes)) {
    return yield* ValidationFailed.at(
      "",
      `A FIT file may have ${MAX_MESSAGES} messages, with ${MAX_FIELDS} fields together`
    )
  }
  const fit = yield* parsed(bytes)
  const { course_points = [], records = [] } = fit
  if (records.length > MAX_READ_POSITIONS) return yield* tooMany("records", records.length, MAX_READ_POSITIONS)
  const placed = records.filter((record) => placeOf(record) !== undefined)
  const parts = partsOf(placed, fit)
  const waypoints = waypointsOf(fit)
  if (waypoints.length > MAX_WAYPOINTS) return yield* tooMany("waypoints", waypoints.length, MAX_WAYPOINTS)
  const positions = placed.map((record) => placeOf(record, elevationOf(record))).filter((
    position
  ): position is Position => position !== undefined)
  const course = fit.messages?.course?.[0]
  const isCourse = course !== undefined
  const file: DraftFile = {
    names: [],
    descriptions: [],
    tags: [],
    activity: undefined,
    waypoints: [],
    tracks: [{
      names: [course?.name],
      descriptions: [],
      tags: [],
      activity: textOf(course?.sport ?? fit.sessions?.[0]?.sport ?? fit.sports?.[0]?.sport),
      waypoints,
      segments: inGroups(positions, parts.map(({ length }) => length)),
      // The times of a course are where a virtual partner would be; a lap has the time that was planned.
      seconds: isCourse
        ? sumOf((fit.laps ?? []).map(({ total_timer_time }) => total_timer_time))
        : durationOf(parts, isoOf)
    }],
    dropped: [
      ...droppedIf(records.length - placed.length, "record", "it has no position"),
      ...droppedIf(course_points.length - waypoints.length, "course_point", "it has no position")
    ]
  }
  return file
})
