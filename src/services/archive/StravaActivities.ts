import { Iterable } from "effect"
import { MAX_ARCHIVE_FILES } from "../../schema/Archive.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"

/** An activity of the `activities.csv` of Strava's archive, by the name of its file beside that. */
export interface StravaActivity {
  readonly file: string
  readonly id: string
  readonly name: string
  readonly type: string
  readonly description: string
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

/** The names of the columns are in the rider's language: the first five are known by their place, the file by its folder. */
const activityOf = ([id = "", , name = "", type = "", description = "", ...others]: ReadonlyArray<string>) => {
  const file = others.find((cell) => FILE.test(cell))
  return file === undefined || !ID.test(id) ? [] : [{ file, id, name, type, description }]
}

/** Returns no more activities than an archive has files: each is copied to the thread that handles requests. */
export const readActivities = new HeavyJob<Uint8Array, ReadonlyArray<StravaActivity>>(import.meta.url, {
  name: "read Strava's activities",
  share: "files",
  run: (bytes) =>
    Array.from(Iterable.take(Iterable.flatMap(rowsOf(new TextDecoder().decode(bytes)), activityOf), MAX_ARCHIVE_FILES))
})
