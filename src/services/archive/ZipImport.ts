import {
  Context,
  Effect,
  Exit,
  Layer,
  Option,
  Result,
  Schedule,
  Schema,
  Scope,
  Semaphore,
  Stream,
  Struct
} from "effect"
import { type ImportReport, MAX_ARCHIVE_FILES } from "../../schema/Archive.ts"
import type { CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import { type ImportWarning, MAX_UNPACKED_BYTES } from "../../schema/Import.ts"
import { MAX_TAGS, type Source } from "../../schema/Route.ts"
import type { Quota } from "../../schema/User.ts"
import type { ZipImportLine, ZipImportQuery } from "../../schema/ZipImport.ts"
import { Draining } from "../admission/Health.ts"
import { INLINE_BYTES } from "../admission/HeavyWork.ts"
import { ImportTurns } from "../admission/ImportTurns.ts"
import { AT_ONCE } from "../admission/Lanes.ts"
import { Collections } from "../collections/Collections.ts"
import {
  ArchiveNeedsSession,
  CueBeyondLine,
  FilesTooLarge,
  type ImportRunning,
  InvalidInput,
  NotReady,
  Overloaded,
  QuotaExceeded,
  SourceUsed,
  UnknownEncoding,
  UnknownFormat
} from "../DomainErrors.ts"
import { nameOf } from "../files/Finish.ts"
import { ACTIVITIES, isPacked } from "../files/PackedFile.ts"
import { ImportDisk } from "../files/Spool.ts"
import { whyUnknown } from "../files/Upload.ts"
import { readFile, type ReadFiles, refusalOf, warningsOf } from "../routes/FileJobs.ts"
import { type Kept, type ReadDraft, RouteDuplicates } from "../routes/RouteDuplicates.ts"
import { Routes } from "../routes/Routes.ts"
import { AccountImport, type Received } from "./Import.ts"
import { isNested, type RouteZip, routeZip, type ZippedFile } from "./RouteZip.ts"
import {
  activityOfUpload,
  type GarminActivity,
  readActivities,
  readSummaries,
  sourceOf,
  type StravaActivity
} from "./Sources.ts"

const ROUTE_FILE = /\.(?:gpx|geojson|json|tcx|kml|kmz|fit|xml)(?:\.gz)?$/i

const SUMMARIES = /_summarizedActivities\.json$/

const FULL: Readonly<Record<Quota, string>> = {
  routes: "the account has as many routes as it may have",
  storedBytes: "the routes of the account have as many bytes as they may have",
  collections: "the account has as many collections as it may have"
}

/** One file exceeds these limits of a job; nothing is wrong with the others. */
const OF_ONE_FILE: Readonly<Partial<Record<Overloaded["reason"], string>>> = {
  job_time: "it takes too long to read",
  job_memory: "it takes too much memory to read",
  job_ended: "it could not be read"
}

const FileFault = Schema.Union([
  InvalidInput,
  FilesTooLarge,
  UnknownFormat,
  UnknownEncoding,
  CueBeyondLine,
  SourceUsed,
  QuotaExceeded
])
type FileFault = typeof FileFault.Type

const isFileFault = Schema.is(FileFault)

const reasonOf = (fault: FileFault): string => {
  switch (fault._tag) {
    case "InvalidInput": {
      const { message = "it cannot be read", path = "" } = fault.issues[0] ?? {}
      // The sender of a ZIP has not chosen the option that its files are read with.
      return path === "" || fault.part === "query" ? message : `${path}: ${message}`
    }
    case "FilesTooLarge":
      return `it unpacks to more than ${fault.limitBytes} bytes`
    case "UnknownFormat":
    case "UnknownEncoding":
      return whyUnknown(fault)
    case "CueBeyondLine":
      return "its cues do not fit its line"
    case "SourceUsed":
      return "a route in the trash has its source: restore that, or erase it"
    case "QuotaExceeded":
      return FULL[fault.quota]
  }
}

/** A busy service gets a file again this often: no request waits for it. */
const WAITS = { schedule: Schedule.spaced("2 seconds"), times: 30 }

const isList = (name: string) => ACTIVITIES.test(name) || SUMMARIES.test(name)

/** Files that are not read cost nothing: an archive may have tens of thousands of pictures. */
const unreadBecause = (name: string): string | undefined => {
  if (isList(name)) return "it names the activities"
  return ROUTE_FILE.test(name) || isNested(name) ? undefined : "its name is not that of a route file"
}

const isOverloaded = Schema.is(Overloaded)

const isBusy = (error: unknown) => isOverloaded(error) && OF_ONE_FILE[error.reason] === undefined

const patient = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.retry(work, { ...WAITS, while: isBusy })

const MAX_REASON = 300

interface Progress {
  imported: number
  duplicates: number
  skipped: number
  notCollected: number
  /** Says why nothing more can be stored. */
  full: string | undefined
}

/** A route that was a member before keeps its place. */
interface Target {
  readonly id: CollectionId
  readonly members: Set<RouteId>
}

const skippedLine = (file: string, reason: string): ZipImportLine => ({
  outcome: "skipped",
  file,
  reason: reason.slice(0, MAX_REASON).toWellFormed()
})

const storedLine = (
  file: string,
  kept: ReadonlyArray<Kept>,
  warnings: ReadonlyArray<ImportWarning>
): ZipImportLine => {
  const idsOf = (isNew: boolean): ReadonlyArray<RouteId> => [
    ...new Set(kept.filter((one) => one.isNew === isNew).map(({ routeId }) => routeId))
  ]
  const [routeIds, duplicateOf] = [idsOf(true), idsOf(false)]
  if (routeIds.length === 0) return { outcome: "duplicate", file, duplicateOf }
  return {
    outcome: "imported",
    file,
    routeIds,
    ...(duplicateOf.length === 0 ? {} : { duplicateOf }),
    ...(warnings.length === 0 ? {} : { warnings })
  }
}

const withoutSource = (draft: ReadDraft): ReadDraft => Struct.omit(draft, ["source"])

const draftsOf = (
  { routes }: ReadFiles,
  { tags = [], visibility = "private" }: ZipImportQuery,
  source: Source | undefined,
  summaries: ReadonlyArray<GarminActivity>
) =>
  routes.map(({ line, route }): ReadDraft => {
    const activity = activityOfUpload(source, summaries, route.recordedAt)
    const known = activity.source ?? source
    return {
      ...route,
      geometry: line,
      visibility,
      tags: [...new Set([...tags, ...route.tags ?? []])].slice(0, MAX_TAGS),
      ...(activity.name === undefined ? {} : { name: nameOf({ names: [activity.name] }) }),
      ...(known === undefined || routes.length > 1 ? {} : { source: known })
    }
  })

/** `recheck` admits the caller again before each file. */
export interface Sender<E, R> {
  readonly isSession: boolean
  readonly recheck: Effect.Effect<unknown, E, R>
}

type LineFailure = InvalidInput | NotReady | Overloaded

export type Taken<E, R> =
  | { readonly report: ImportReport }
  | { readonly lines: Stream.Stream<ZipImportLine, E | LineFailure, R> }

const routeImport = Effect.gen(function*() {
  const collections = yield* Collections
  const draining = yield* Draining
  const duplicates = yield* RouteDuplicates
  const routes = yield* Routes
  const turns = yield* ImportTurns
  // An import whose turn has not come has no file in memory.
  const reads = yield* Semaphore.make(AT_ONCE.archivePieces)

  const requireRunning = Effect.flatMap(
    draining.hasBegun,
    (hasBegun) => hasBegun ? Effect.fail(new NotReady({ reason: "shutdown" })) : Effect.void
  )

  const targetNamed = Effect.fnUntraced(function*(owner: UserId, name: string) {
    const found = yield* collections.named(owner, name).pipe(
      Effect.flatMap(Effect.fromOption),
      Effect.flatMap((id) => collections.get(id, Option.some(owner))),
      Effect.option
    )
    const { id, routeIds } = Option.isSome(found) ? found.value : yield* collections.create(owner, { name })
    const target: Target = { id, members: new Set(routeIds) }
    return target
  }, Effect.catchTags({ ClientIdUsed: Effect.die, Missing: Effect.die, RoutesMissing: Effect.die }))

  const activitiesOf = Effect.fnUntraced(function*(lists: ReadonlyArray<ZippedFile>) {
    const found = lists.find(({ name }) => ACTIVITIES.test(name))
    const bytes = found === undefined ? Option.none() : yield* Effect.option(found.bytes)
    if (found === undefined || Option.isNone(bytes)) return new Map<string, StravaActivity>()
    const folder = found.name.replace(/[^/]+$/, "")
    const all = yield* patient(turns.run(readActivities, bytes.value, bytes.value.length))
    return new Map(all.map((activity) => [`${folder}${activity.file}`, activity]))
  })

  /** A list that cannot be read names no activity. Lists are read until an archive has no file for a further one. */
  const summariesOf = (lists: ReadonlyArray<ZippedFile>) =>
    Stream.fromIterable(lists.filter(({ name }) => SUMMARIES.test(name))).pipe(
      Stream.mapEffect(({ bytes }) =>
        bytes.pipe(
          Effect.flatMap((bytes) => patient(turns.run(readSummaries, bytes, bytes.length))),
          Effect.catchIf(
            (failure) => failure._tag === "InvalidInput" || OF_ONE_FILE[failure.reason] !== undefined,
            () => Effect.succeed([])
          )
        )
      ),
      Stream.flattenIterable,
      Stream.take(MAX_ARCHIVE_FILES),
      Stream.runCollect
    )

  const readOne = Effect.fnUntraced(function*(
    zip: RouteZip,
    name: string,
    bytes: Uint8Array<ArrayBuffer>,
    activity?: StravaActivity
  ) {
    const weight = isPacked(bytes, undefined) ? INLINE_BYTES + bytes.length : bytes.length
    // Node keeps small files in a buffer of several.
    const transfer = bytes.length > INLINE_BYTES ? [bytes.buffer] : []
    const given = {
      bytes,
      split: true,
      join: false,
      track: undefined,
      contentType: undefined,
      contentEncoding: undefined,
      fileName: name,
      name: activity === undefined || activity.name.trim() === "" ? undefined : activity.name,
      ...(activity === undefined ? {} : { about: { ...activity, activity: activity.type } })
    }
    const outcome = yield* patient(turns.run(readFile, given, weight, transfer)).pipe(
      Effect.tapError(() => zip.spend(MAX_UNPACKED_BYTES)),
      // A fault of a reader must not end the import.
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError("file not read", defect),
          Effect.fail(InvalidInput.at("", "it could not be read"))
        )
      )
    )
    yield* zip.spend(outcome.unpacked)
    return "read" in outcome ? outcome.read : yield* refusalOf(outcome.refused)
  })

  const createAll = (owner: UserId, drafts: ReadonlyArray<ReadDraft>) =>
    routes.createAll(owner, drafts).pipe(
      Effect.catchTag("SourceUsed", () => routes.createAll(owner, drafts.map(withoutSource))),
      Effect.map((all) => all.map(({ id }): Kept => ({ routeId: id, isNew: true })))
    )

  const store = (owner: UserId, drafts: ReadonlyArray<ReadDraft>, { duplicates: mode }: ZipImportQuery) =>
    patient(turns.turn(mode === "allow" ? createAll(owner, drafts) : duplicates.createOthers(owner, drafts))).pipe(
      // Routes of files in a ZIP have no `clientId`.
      Effect.catchTag("ClientIdUsed", Effect.die)
    )

  const collect = (owner: UserId, { id, members }: Target, kept: ReadonlyArray<Kept>, progress: Progress) =>
    Effect.forEach(
      kept.filter(({ routeId }) => !members.has(routeId)),
      ({ routeId }) =>
        patient(turns.turn(collections.addRoute(owner, id, { routeId }, undefined))).pipe(
          Effect.tap(() => Effect.sync(() => members.add(routeId))),
          // The collection or the route may have been deleted meanwhile.
          Effect.catchTag(
            ["CollectionFull", "Missing", "RoutesMissing"],
            () => Effect.sync(() => progress.notCollected++)
          ),
          Effect.catchTag("StaleVersion", Effect.die)
        ),
      { discard: true }
    )

  return Effect.fnUntraced(function*<E, R>(
    owner: UserId,
    zip: RouteZip,
    query: ZipImportQuery,
    recheck: Effect.Effect<unknown, E, R>,
    release: Effect.Effect<void>
  ) {
    const target = query.collection === undefined ? undefined : yield* targetNamed(owner, query.collection)
    const lists = yield* zip.find(isList)
    const activities = yield* activitiesOf(lists)
    const summaries = yield* summariesOf(lists)
    const progress: Progress = { imported: 0, duplicates: 0, skipped: 0, notCollected: 0, full: undefined }

    const importOne = Effect.fnUntraced(function*({ bytes, name }: ZippedFile) {
      const activity = activities.get(name)
      const read = yield* reads.withPermit(Effect.flatMap(bytes, (bytes) => readOne(zip, name, bytes, activity)))
      const drafts = draftsOf(read, query, sourceOf(name, read.origin, activity), summaries)
      const kept = yield* store(owner, drafts, query)
      if (target !== undefined) yield* collect(owner, target, kept, progress)
      return storedLine(name, kept, warningsOf(read))
    })

    const lineOf = Effect.fnUntraced(function*(file: ZippedFile) {
      const unread = unreadBecause(file.name) ?? progress.full
      if (unread !== undefined) return skippedLine(file.name, unread)
      yield* recheck
      yield* requireRunning
      const result = yield* Effect.result(importOne(file))
      if (Result.isSuccess(result)) return result.success
      const { failure } = result
      if (isFileFault(failure)) {
        if (failure._tag === "QuotaExceeded") progress.full = reasonOf(failure)
        return skippedLine(file.name, reasonOf(failure))
      }
      const reason = failure._tag === "Overloaded" ? OF_ONE_FILE[failure.reason] : undefined
      return reason === undefined ? yield* Effect.fail(failure) : skippedLine(file.name, reason)
    })

    const counted = ({ outcome }: ZipImportLine) =>
      Effect.sync(() => {
        if (outcome === "imported") progress.imported++
        if (outcome === "duplicate") progress.duplicates++
        if (outcome === "skipped") progress.skipped++
      })

    const begun: ZipImportLine = { outcome: "begun", files: zip.count }
    const ended = Effect.map(release, (): ZipImportLine => {
      const { full: _, notCollected, ...counts } = progress
      return {
        outcome: "ended",
        ...counts,
        ...(target === undefined ? {} : { collectionId: target.id }),
        ...(notCollected === 0 ? {} : { notCollected })
      }
    })
    return Stream.succeed(begun).pipe(
      Stream.concat(zip.files.pipe(Stream.mapEffect(lineOf), Stream.tap(counted))),
      Stream.concat(Stream.fromEffect(ended)),
      // The next import may begin as soon as the last line is there, also where that says why this one stopped.
      Stream.tapCause(() => release)
    )
  })
})

export class ZipImports extends Context.Service<ZipImports, {
  /**
   * Reads the upload, imports an archive of this service, which needs a session (`ArchiveNeedsSession`), and returns
   * the report. For any other ZIP it returns lines, each of which imports a file by `choice` when it is read; a file
   * that cannot be imported has a line too. The stream fails, between two files, where the caller is refused, the
   * service stops, or the database takes no writes; the same ZIP may be sent again.
   */
  readonly take: <E, E2, E3, R>(
    owner: UserId,
    upload: Stream.Stream<Uint8Array, E>,
    choice: Effect.Effect<ZipImportQuery, E2>,
    sender: Sender<E3, R>
  ) => Effect.Effect<
    Taken<E3, R>,
    | E
    | E2
    | ArchiveNeedsSession
    | ImportRunning
    | LineFailure
    | QuotaExceeded
    | Effect.Error<Received["restore"]>,
    Scope.Scope
  >
}>()("route-planning-service/ZipImports") {
  static readonly layer = Layer.effect(
    ZipImports,
    Effect.gen(function*() {
      const accounts = yield* AccountImport
      const disk = yield* ImportDisk
      const importRoutes = yield* routeImport

      return ZipImports.of({
        take: Effect.fnUntraced(function*(owner, upload, choice, { isSession, recheck }) {
          // This scope closes with the import: that of a request closes after its response.
          const scope = yield* Scope.fork(yield* Effect.scope)
          const release = Scope.close(scope, Exit.void)
          const taken = Effect.gen(function*() {
            const { file, restore } = yield* Scope.provide(accounts.receive(owner, upload), scope)
            const zip = yield* routeZip(file, disk)
            if (!zip.isOwn) return { lines: yield* importRoutes(owner, zip, yield* choice, recheck, release) }
            if (!isSession) return yield* new ArchiveNeedsSession()
            return { report: yield* Effect.ensuring(restore, release) }
          })
          return yield* Effect.onError(taken, () => release)
        })
      })
    })
  )
}
