import { Effect, Option, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createHash, randomUUID } from "node:crypto"
import { openAsBlob } from "node:fs"
import { readdir, readFile, stat } from "node:fs/promises"
import { basename, dirname, extname, join } from "node:path"
import { type Client, type ImportWarning, ServiceError } from "../../client/src/index.ts"
import { attempt, EXIT_CODES, Failure, toFailure } from "./Failure.ts"
import { readText, replaceJson } from "./Files.ts"
import { account, given, print } from "./Root.ts"
import { isJson, note, showProgress } from "./Terminal.ts"

const TYPES: Readonly<Record<string, string>> = {
  ".fit": "application/vnd.ant.fit",
  ".geojson": "application/geo+json",
  ".gpx": "application/gpx+xml",
  ".kml": "application/vnd.google-earth.kml+xml",
  ".kmz": "application/vnd.google-earth.kmz",
  ".tcx": "application/vnd.garmin.tcx+xml"
}

/** These are seldom routes: only one that is given by its path is imported. */
const TYPES_BY_PATH: typeof TYPES = { ...TYPES, ".json": "application/geo+json", ".xml": "application/xml" }

const isRouteFile = (file: string, types = TYPES): boolean =>
  types[extname(file.toLowerCase().replace(/\.gz$/, ""))] !== undefined

/** Finds hidden files, and what macOS adds beside the files: the service leaves out the same of a ZIP. */
const isHidden = (file: string): boolean => /(?:^|[\\/])(?:__MACOSX[\\/]|\.)/.test(file)

const BESIDE: Readonly<Record<string, string>> = { "activities.csv": "activities", "routes.json": "manifest.json" }

/** Finds what Strava and this service give, unpacked: names and more of the routes are in none of their own files. */
const archiveIn = (files: ReadonlyArray<string>): string | undefined =>
  files.find((file) => {
    const beside = BESIDE[basename(file)]
    return beside !== undefined && files.includes(join(dirname(file), beside))
  })

/** Folders may have names such as of files, as a tour with its parts has. */
const routeFilesIn = async (directory: string): Promise<ReadonlyArray<string>> => {
  const files: Array<string> = []
  const found = (await readdir(directory, { recursive: true })).filter((file) => !isHidden(file))
  const archive = archiveIn(found)
  if (archive !== undefined) {
    const message = "an archive of an account: import its ZIP, or a ZIP of this folder, which has the names"
    throw Failure.because(`${dirname(join(directory, archive))}: ${message}`, EXIT_CODES.usage)
  }
  for (const file of found.filter((file) => isRouteFile(file)).toSorted()) {
    const isFolder = await stat(join(directory, file)).then((entry) => entry.isDirectory(), () => false)
    if (!isFolder) files.push(file)
  }
  return files
}

const typeOf = (file: string) =>
  file.toLowerCase().endsWith(".gz") ? "application/gzip" : TYPES_BY_PATH[extname(file).toLowerCase()]

/** This file of the directory has, by account and SHA-256, the ids of each file, or none if its import only began. */
const JOURNAL = ".rps-import.json"

const decodeJournal = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Array(Schema.Int)))
)

const readJournal = async (file: string) => {
  const text = await readText(file)
  try {
    return text === undefined ? {} : decodeJournal(text)
  } catch {
    throw Failure.because(`${file}: not a file of an import: remove it, and run rps import again`)
  }
}

interface Imported {
  readonly ids: ReadonlyArray<number>
  readonly isNew: boolean
  readonly warnings?: ReadonlyArray<ImportWarning>
}

/** The other tracks of a file are imported too. */
const isOfOthers = ({ message }: ImportWarning) => message === "tracks: another one was chosen by `track`"

const importedOf = (ids: ReadonlyArray<number>, isNew: boolean, all: ReadonlyArray<ImportWarning>): Imported => {
  const own = all.filter((warning) => !isOfOthers(warning))
  const warnings = [...new Map(own.map((warning) => [warning.message, warning])).values()]
  return { ids, isNew, ...(warnings.length === 0 ? {} : { warnings }) }
}

/** The service takes so many files in about as many seconds. */
const MANY_FILES = 100

/** Nobody misses what no route has, such as the measures of a sensor. */
const isMissed = (message: string) => !message.endsWith(": a route has no place for it")

/** Prints what became of a file, and below it what the service has left out. */
const printFile = Effect.fnUntraced(function*(
  result: unknown,
  text: string,
  warnings: ReadonlyArray<Pick<ImportWarning, "message">> = []
) {
  yield* print(result, text)
  if (isJson) return
  for (const { message } of warnings) if (isMissed(message)) yield* print(message, `  ${message}`)
})

/** Returns undefined for a file of several tracks without the index of one, and for an index behind the last track. */
const importTrack = async (
  client: Client,
  file: string,
  bytes: Uint8Array<ArrayBuffer>,
  track?: number
): Promise<Imported | undefined> => {
  const name = encodeURIComponent(basename(file))
  try {
    const made = await client.files.import({
      query: { track },
      headers: {
        "Content-Type": typeOf(file),
        "Content-Disposition": `attachment; filename*=UTF-8''${name}`,
        "Idempotency-Key": randomUUID()
      },
      payload: bytes
    })
    const routes = Array.isArray(made) ? made : [made]
    const ids = routes.flatMap((route) => "id" in route ? [route.id] : [])
    return importedOf(ids, true, routes.flatMap(({ warnings }) => warnings))
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { issues, reason, routeId } = error.details
    if (error.statusCode === 400 && issues?.[0]?.path === "query.track") return undefined
    if (error.statusCode !== 409 || reason !== "duplicate_route") throw error
    return { ids: routeId === undefined ? [] : [routeId], isNew: false }
  }
}

const importTracks = async (client: Client, file: string, bytes: Uint8Array<ArrayBuffer>): Promise<Imported> => {
  const only = await importTrack(client, file, bytes)
  if (only !== undefined) return only
  const all: Array<Imported> = []
  for (let track = 0;; track++) {
    const one = await importTrack(client, file, bytes, track)
    if (one === undefined) {
      const warnings = all.flatMap(({ warnings = [] }) => warnings)
      return importedOf(all.flatMap(({ ids }) => ids), all.some(({ isNew }) => isNew), warnings)
    }
    all.push(one)
  }
}

const tagAll = async (client: Client, ids: ReadonlyArray<number>, tags: ReadonlyArray<string>): Promise<void> => {
  for (const ref of tags.length === 0 ? [] : ids) {
    const { data, response } = await client.routes.get.response({ params: { ref }, query: { geometry: "none" } })
    const headers = { "If-Match": response.headers.get("ETag") ?? undefined }
    const payload = { tags: [...new Set([...data.tags, ...tags])] }
    await client.routes.update({ params: { ref }, headers, payload }).catch((error) => {
      if (error instanceof ServiceError && error.details.reason === "stale") return tagAll(client, [ref], tags)
      throw error
    })
  }
}

const Line = Schema.Struct({
  outcome: Schema.Literals(["begun", "imported", "duplicate", "skipped", "ended", "stopped"]),
  file: Schema.optionalKey(Schema.String),
  routeIds: Schema.optionalKey(Schema.Array(Schema.Int)),
  duplicateOf: Schema.optionalKey(Schema.Array(Schema.Int)),
  warnings: Schema.optionalKey(
    Schema.Array(Schema.Struct({ code: Schema.String, message: Schema.String, count: Schema.Int }))
  ),
  reason: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String),
  imported: Schema.optionalKey(Schema.Int),
  duplicates: Schema.optionalKey(Schema.Int),
  skipped: Schema.optionalKey(Schema.Int)
})

const decodeLine = Schema.decodeUnknownSync(Schema.fromJsonString(Line))

const wordsOf = ({ duplicates, file, imported, message, outcome, reason, skipped }: typeof Line.Type): string => {
  if (outcome === "ended") return `${imported} imported, ${duplicates} already there, ${skipped} skipped`
  if (outcome === "stopped") return `stopped: ${message}`
  if (outcome === "skipped") return `${file}: skipped, ${reason}`
  return `${file}: ${outcome === "duplicate" ? "already there" : "imported"}`
}

/** Photos and tables, which archives of other services have too, are no files of routes. */
const isRefused = ({ file = "", outcome }: typeof Line.Type): boolean => outcome === "skipped" && isRouteFile(file)

const connectionBroke = () =>
  Failure.because("the connection broke: import the same file again", EXIT_CODES.unreachable)

/** The service reads a ZIP itself, and reports on each file. */
const importZip = Effect.fnUntraced(function*(client: Client, archive: string, tags: ReadonlyArray<string>) {
  const made = yield* attempt(async () =>
    client.accountData.import({
      query: { tags: tags.length === 0 ? undefined : tags },
      headers: { "Content-Type": "application/zip" },
      payload: await openAsBlob(archive)
    })
  )
  if (!(made instanceof ReadableStream)) return yield* print(made, "The account is imported")
  let refused = 0
  const last = yield* Stream.fromReadableStream({ evaluate: () => made, onError: connectionBroke }).pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.map((line) => decodeLine(line)),
    Stream.tap((line) => {
      if (isRefused(line)) refused++
      return line.outcome === "begun" ? Effect.void : printFile(line, wordsOf(line), line.warnings)
    }),
    Stream.runLast
  )
  if (Option.isNone(last) || last.value.outcome !== "ended") {
    return yield* Failure.because("The import has not ended: import the same file again")
  }
  if (refused > 0) {
    return yield* Failure.because(`${refused} files of routes were not imported`, EXIT_CODES.partial)
  }
})

export const importFiles = Command.make(
  "import",
  {
    path: given(Argument.Path("directory", { mustExist: true })).pipe(
      Argument.withDescription(
        "Of GPX, GeoJSON, TCX, KML, KMZ and FIT files, also compressed (.gz), with all below it; or one such file, or a ZIP of them"
      )
    ),
    tag: Flag.String("tag").pipe(
      Flag.withDescription("A tag for what is imported; repeat it for several"),
      Flag.atLeast(0)
    )
  },
  Effect.fnUntraced(function*({ path, tag }) {
    const { client, origin } = yield* account
    const isFile = (yield* attempt(() => stat(path))).isFile()
    if (isFile && !isRouteFile(path, TYPES_BY_PATH)) return yield* importZip(client, path, tag)
    const { user } = yield* attempt(() => client.credential.describe())
    const directory = isFile ? dirname(path) : path
    const journalFile = join(directory, JOURNAL)
    const files = isFile ? [basename(path)] : yield* attempt(() => routeFilesIn(directory))
    if (files.length === 0) return yield* Failure.because(`${directory}: no file of a route`)
    if (files.length > MANY_FILES) {
      note(`${directory}: its files are imported one by one: a ZIP of them is imported at once`)
    }
    const journal = isFile ? {} : { ...(yield* attempt(() => readJournal(journalFile))) }
    let isKept = true
    // The journal saves the next run work: the service itself knows the files that it has.
    const goOn = (error: unknown) => {
      if (isKept) note(`${toFailure(error).message}: the next run sends all files again`)
      isKept = false
    }
    const counts = { imported: 0, present: 0, failed: 0 }
    for (const [index, file] of files.entries()) {
      yield* Effect.sync(() => showProgress(index, files.length, file))
      const outcome = yield* attempt(async () => {
        const bytes = new Uint8Array(await readFile(join(directory, file)))
        const key = `${origin} ${user.id} ${createHash("sha256").update(bytes).digest("hex")}`
        const { [key]: known } = journal
        if (known !== undefined && known.length > 0) return { ids: known, isNew: false }
        const keep = (ids: ReadonlyArray<number>) => {
          journal[key] = ids
          return isFile ? undefined : replaceJson(journalFile, journal).catch(goOn)
        }
        if (known === undefined) await keep([])
        const imported = await importTracks(client, file, bytes)
        // A run that ended between the import and its tags has left the tags to this one.
        if (imported.isNew || known !== undefined) await tagAll(client, imported.ids, tag)
        await keep(imported.ids)
        return imported
      }).pipe(Effect.result)
      if (outcome._tag === "Failure") {
        const failure = toFailure(outcome.failure)
        // Without the service or a credential, the other files would fail alike.
        if (failure.exitCode !== EXIT_CODES.failed) return yield* failure
        counts.failed++
        yield* print({ file, error: failure.message }, `${file}: ${failure.message}`)
      } else {
        const { success } = outcome
        counts[success.isNew ? "imported" : "present"]++
        const words = `${file}: ${success.isNew ? "imported" : "already there"}`
        yield* printFile({ file, ...success }, words, success.warnings)
      }
    }
    showProgress(files.length, files.length, "files")
    yield* print(counts, `${counts.imported} imported, ${counts.present} already there, ${counts.failed} failed`)
    if (counts.failed === 0) return
    const exitCode = counts.failed < files.length ? EXIT_CODES.partial : EXIT_CODES.failed
    return yield* Failure.because(`${counts.failed} of ${files.length} files were not imported`, exitCode)
  })
).pipe(
  Command.withDescription(
    "Import the files of a directory, one file, or a ZIP. What is there already is skipped, and so is what an earlier run did"
  )
)
