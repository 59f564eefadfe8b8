import { Iterable, Option, Schema } from "effect"
import { MAX_ARCHIVE_FILES } from "../../schema/Archive.ts"
import { recordedAtOf } from "../../schema/Measures.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { excessOf, type TextLimits } from "../bodies/JsonScanner.ts"

/** An activity of the `activities.csv` of Strava's archive, by the name of its file beside that. */
export interface StravaActivity {
  readonly file: string
  readonly id: string
  readonly name: string
  readonly type: string
  readonly description: string
  readonly recordedAt: string | undefined
}

/** A cell in quotes or without, and what ends it (RFC 4180). */
const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^,\r\n]*))(,|\r?\n|$)/gy

function* rowsOf(text: string): Generator<ReadonlyArray<string>> {
  let row: Array<string> = []
  for (const [, quoted, plain = "", end] of text.matchAll(CELL)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll("\"\"", "\""))
    if (end === ",") continue
    yield row
    row = []
  }
}

const ID = /^\d{1,20}$/
const FILE = /^activities\//

/** Strava writes UTC. Dates of other languages may have the day first, which no parser can know. */
const instantOf = (date: string) =>
  /^(?:[A-Z][a-z]{2} \d|\d{4}-)/.test(date)
    ? recordedAtOf(Date.parse(`${date.replaceAll(/\s+/g, " ")} UTC`))
    : undefined

/** The names of the columns are in the rider's language: the first five are known by their place, the file by its folder. */
const activityOf = ([id = "", date = "", name = "", type = "", description = "", ...others]: ReadonlyArray<string>) => {
  const file = others.find((cell) => FILE.test(cell))
  return file === undefined || !ID.test(id)
    ? []
    : [{ file, id, name, type, description, recordedAt: instantOf(date) }]
}

/** Returns no more activities than an archive has files: each is copied to the thread that handles requests. */
export const readActivities = new HeavyJob<Uint8Array, ReadonlyArray<StravaActivity>>(import.meta.url, {
  name: "read Strava's activities",
  share: "files",
  run: (bytes) =>
    Array.from(Iterable.take(Iterable.flatMap(rowsOf(new TextDecoder().decode(bytes)), activityOf), MAX_ARCHIVE_FILES))
})

/** An activity of Garmin's export, whose files have no titles: they are known by when they were recorded, in milliseconds. */
export interface GarminActivity {
  readonly id: string
  readonly name: string
  readonly from: number
  readonly to: number
}

const Summary = Schema.Struct({
  activityId: Schema.Int,
  name: Schema.String,
  beginTimestamp: Schema.Finite,
  duration: Schema.optionalKey(Schema.Finite),
  elapsedDuration: Schema.optionalKey(Schema.Finite)
})

const decodeSummary = Schema.decodeUnknownOption(Summary)

const decodeSummaries = Schema.decodeUnknownOption(Schema.fromJsonString(
  Schema.Array(Schema.Struct({ summarizedActivitiesExport: Schema.Array(Schema.Unknown) }))
))

/** A thousand activities, with a hundred members each and their laps. */
const SUMMARY_LIMITS: TextLimits = { depth: 16, values: 1_000_000 }

const garminActivityOf = (value: unknown): ReadonlyArray<GarminActivity> =>
  Option.match(decodeSummary(value), {
    onNone: () => [],
    onSome: ({ activityId, beginTimestamp, duration = 0, elapsedDuration = duration, name }) => [{
      id: String(activityId),
      name,
      from: beginTimestamp,
      to: beginTimestamp + elapsedDuration
    }]
  })

/** Reads a `…_summarizedActivities.json`; one that is none has no activities. */
export const readSummaries = new HeavyJob<Uint8Array, ReadonlyArray<GarminActivity>>(import.meta.url, {
  name: "read Garmin's activities",
  share: "files",
  run: (bytes) =>
    excessOf(bytes, SUMMARY_LIMITS) === undefined
      ? Option.getOrElse(decodeSummaries(new TextDecoder().decode(bytes)), () => [])
        .flatMap(({ summarizedActivitiesExport }) => summarizedActivitiesExport)
        .slice(0, MAX_ARCHIVE_FILES)
        .flatMap(garminActivityOf)
      : []
})

/** The clock of a device and that of its first record differ by less. */
const NEAR_MILLISECONDS = 60_000

/** Returns the activity during which something was recorded; they are in the order of their beginnings. */
export const activityAt = (
  activities: ReadonlyArray<GarminActivity>,
  instant: string | null | undefined
): GarminActivity | undefined => {
  const time = instant === undefined || instant === null ? Number.NaN : Date.parse(instant)
  const found = activities.findLast(({ from }) => from <= time + NEAR_MILLISECONDS)
  return found !== undefined && time <= found.to + NEAR_MILLISECONDS ? found : undefined
}
