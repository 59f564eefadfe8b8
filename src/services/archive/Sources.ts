import { Iterable, Option, Schema } from "effect"
import { MAX_ARCHIVE_FILES } from "../../schema/Archive.ts"
import { recordedAtOf } from "../../schema/Measures.ts"
import { MAX_NAME, type Source } from "../../schema/Route.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { excessOf, type TextLimits } from "../bodies/JsonScanner.ts"
import type { FileOrigin } from "../files/Draft.ts"

/** `activities.csv` of Strava's archive has an activity with the name of its file. */
export interface StravaActivity {
  readonly file: string
  readonly id: string
  readonly name: string
  readonly type: string
  readonly description: string
  readonly recordedAt: string | undefined
}

/** Matches a cell, in quotes or without, and what ends it (RFC 4180). */
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
const FILE = /^activities\/.{1,255}$/

/** Strava writes UTC. Dates of other languages may have the day first, which no parser can know. */
const instantOf = (date: string) =>
  /^(?:[A-Z][a-z]{2} \d|\d{4}-)/.test(date)
    ? recordedAtOf(Date.parse(`${date.replaceAll(/\s+/g, " ")} UTC`))
    : undefined

/** Columns have names in the rider's language: the first five are known by their place, the file by its folder. */
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

/** Files of Garmin's export have no titles, so their activities are known by their instants, in milliseconds. */
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

/** A thousand activities, with a hundred members each and their laps, are within these limits. */
const SUMMARY_LIMITS: TextLimits = { depth: 16, values: 1_000_000 }

const garminActivityOf = (value: unknown): ReadonlyArray<GarminActivity> =>
  Option.match(decodeSummary(value), {
    onNone: () => [],
    onSome: ({ activityId, beginTimestamp, duration = 0, elapsedDuration = duration, name }) => [{
      id: String(activityId),
      name: name.trim().slice(0, 2 * MAX_NAME),
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

/** Returns the activity during which something was recorded; of several that which began nearest to it. */
const activityAt = (
  activities: ReadonlyArray<GarminActivity>,
  instant: string | null | undefined
): GarminActivity | undefined => {
  const time = Date.parse(instant ?? "")
  const awayFrom = ({ from }: GarminActivity) => Math.abs(from - time)
  return activities
    .filter(({ from, to }) => from - NEAR_MILLISECONDS <= time && time <= to + NEAR_MILLISECONDS)
    .reduce<GarminActivity | undefined>(
      (nearest, one) => nearest !== undefined && awayFrom(nearest) <= awayFrom(one) ? nearest : one,
      undefined
    )
}

interface Page {
  readonly provider: string
  readonly host: RegExp
  /** The group is the id, with its kind where the provider counts several kinds. */
  readonly path: RegExp
}

const PAGES: ReadonlyArray<Page> = [
  {
    provider: "strava",
    host: /^(?:www\.)?strava\.com$/,
    path: /^\/(?:activities\/(\d{1,20})|(routes\/\d{1,20}))(?=\/|$)/
  },
  {
    provider: "garmin",
    host: /^connect\.garmin\.com$/,
    path: /^\/(?:(?:modern|app)\/)?(?:activity\/(\d{1,20})|(course\/\d{1,20}))(?=\/|$)/
  },
  { provider: "komoot", host: /^(?:www\.)?komoot\.(?:com|de)$/, path: /^\/(?:[a-z-]{2,5}\/)?tour\/(\d{1,20})(?=\/|$)/ },
  { provider: "ridewithgps", host: /^(?:www\.)?ridewithgps\.com$/, path: /^\/((?:routes|trips)\/\d{1,20})(?=\/|$)/ },
  // People host wanderer themselves, so any host may be one.
  { provider: "wanderer", host: /^[a-z0-9.-]{1,253}$/, path: /^\/trail\/view\/@[^/]{1,200}\/([a-z0-9]{15})(?=\/|$)/ }
]

const idIn = (match: RegExpExecArray | null | undefined) => match?.slice(1).find((group) => group !== undefined)

/** A query may have the secret of a shared page, so only host and path are kept. */
const ofLink = (link: string): ReadonlyArray<Source> => {
  const url = URL.parse(link)
  if (url === null || !/^https?:$/.test(url.protocol)) return []
  return PAGES.flatMap(({ host, path, provider }) => {
    const match = host.test(url.hostname) ? path.exec(url.pathname) : null
    const externalId = idIn(match)
    return match === null || externalId === undefined
      ? []
      : [{ provider, externalId, url: `https://${url.host}${match[0]}` }]
  })
}

const MAX_FILE_NAME = 255

/** Garmin Connect gives downloads these names. */
const GARMIN_FILE = /^(?:activity_(\d{6,20})|(\d{6,20})_ACTIVITY)\.(?:gpx|tcx|fit)(?:\.gz)?$/
const GARMIN_COURSE = /^COURSE_(\d{6,20})\.(?:gpx|tcx|fit)(?:\.gz)?$/

/** Garmin's export of an account names files by the user's address and the id of the upload, which has no page. */
const GARMIN_UPLOADS = /^UploadedFiles_/
const GARMIN_UPLOAD = /_(\d{6,20})(?:_[a-z0-9-]*)?\.(?:gpx|tcx|fit)(?:\.gz)?$/

const garmin = (id: string, kind = ""): Source => ({
  provider: "garmin",
  externalId: `${kind}${id}`,
  url: `https://connect.garmin.com/modern/${kind === "" ? "activity/" : kind}${id}`
})

const ofGarminFile = (path: string): Source | undefined => {
  const folders = path.split("/")
  const name = folders.pop() ?? ""
  if (name.length > MAX_FILE_NAME) return undefined
  const activity = idIn(GARMIN_FILE.exec(name))
  if (activity !== undefined) return garmin(activity)
  const course = idIn(GARMIN_COURSE.exec(name))
  if (course !== undefined) return garmin(course, "course/")
  const upload = folders.some((folder) => GARMIN_UPLOADS.test(folder)) ? idIn(GARMIN_UPLOAD.exec(name)) : undefined
  return upload === undefined ? undefined : { provider: "garmin", externalId: `${UPLOAD}${upload}` }
}

/** Komoot's files have no link. Programs put the tour's number first or last; eight digits may be a date. */
const KOMOOT_CREATOR = /^https?:\/\/(?:www\.)?komoot\.(?:com|de)\/?$/
const KOMOOT_FILE =
  /^(?:\d{4}-\d{2}-\d{2}[_ -])?(?:tour[_ -])?(?!(?:19|20)\d{6}(?!\d))(\d{6,12})(?=[_ .-])|[_ -](?!(?:19|20)\d{6}(?!\d))(\d{6,12})\.gpx/

/** wanderer exports a trail into a file or a folder that is named by its id. */
const WANDERER_FILE = /(?:^|[/_-])((?=[a-z]*\d)[a-z0-9]{15})(?:\.gpx$|\.gpx\.gz$|\/[^/]+$)/

const ofCreator = (path: string, creator = ""): Source | undefined => {
  const name = path.split("/").at(-1) ?? ""
  if (name.length > MAX_FILE_NAME) return undefined
  const tour = KOMOOT_CREATOR.test(creator) ? idIn(KOMOOT_FILE.exec(name)) : undefined
  if (tour !== undefined) return { provider: "komoot", externalId: tour, url: `https://www.komoot.com/tour/${tour}` }
  const trail = creator === "wanderer" ? idIn(WANDERER_FILE.exec(path)) : undefined
  return trail === undefined ? undefined : { provider: "wanderer", externalId: trail }
}

const UPLOAD = "upload/"

export const activityOfUpload = (
  source: Source | undefined,
  activities: ReadonlyArray<GarminActivity>,
  recordedAt: string | null | undefined
): { readonly name?: string; readonly source?: Source } => {
  if (source?.provider !== "garmin" || !source.externalId.startsWith(UPLOAD)) return {}
  const activity = activityAt(activities, recordedAt)
  if (activity === undefined) return {}
  const { id, name } = activity
  return { ...(name === "" ? {} : { name }), source: garmin(id) }
}

const isGarmins = (creator: string | undefined) => creator === undefined || creator.startsWith("Garmin")

/** Returns where a file of an archive is from, as far as the archive, the file or its name says it. */
export const sourceOf = (
  path: string,
  { creator, links }: FileOrigin,
  activity: StravaActivity | undefined
): Source | undefined => {
  if (activity !== undefined) {
    return { provider: "strava", externalId: activity.id, url: `https://www.strava.com/activities/${activity.id}` }
  }
  return links.flatMap(ofLink)[0] ?? ofCreator(path, creator)
    ?? (isGarmins(creator) ? ofGarminFile(path) : undefined)
}
