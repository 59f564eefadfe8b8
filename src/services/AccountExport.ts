import { Cause, Clock, Context, Effect, Layer, Stream, Struct } from "effect"
import type { ArchivedFile, Manifest } from "../schema/Archive.ts"
import type { CollectionId, RouteId, SessionId, UserId } from "../schema/Ids.ts"
import { type ArchivedCollectionRow, archiveQueries } from "./archive/ArchiveRows.ts"
import { gpxName } from "./archive/FileNames.ts"
import { pagesOf, type Sized } from "./archive/Pages.ts"
import { type AddFile, zipOf } from "./archive/ZipWriter.ts"
import { writeRouteFile } from "./files/RouteFile.ts"
import { PersonalAccessTokens } from "./PersonalAccessTokens.ts"
import { Profiles } from "./Profiles.ts"
import { Pseudonyms } from "./Pseudonyms.ts"
import { toDocument } from "./RouteFiles.ts"
import { toStoredRoute } from "./RouteRows.ts"
import { Sessions } from "./Sessions.ts"

/**
 * An account as one ZIP archive, for its owner to keep or to import again. `routes.json` and `collections.json` are JSON
 * arrays with one element a line, so that a reader needs no more of them at once than a line. `manifest.json` comes last
 * and has the size and SHA-256 of every other file. There is no secret in it: of tokens and sessions only what their lists
 * show, less the sessions' ids. Deleted routes are left out: whoever wants one back restores it first.
 *
 * No transaction and no connection is held while a client reads, so the archive is no snapshot. One statement says which
 * routes it has; they are then read in short statements of about 1 MiB, once for `routes.json` and once more for their GPX
 * files. A route that was changed in between gets no GPX file, rather than one that says something else than
 * `routes.json`, and the manifest names it in `changedMeanwhile`; one that was deleted in between is in neither, or
 * likewise in `routes.json` alone.
 */
export class AccountExport extends Context.Service<AccountExport, {
  /** What the account has is looked up before the bytes begin; they are made as they are taken. */
  readonly archive: (userId: UserId, current: SessionId) => Effect.Effect<Stream.Stream<Uint8Array>>
}>()("route-planning-service/AccountExport") {
  static readonly layer = Layer.effect(
    AccountExport,
    Effect.gen(function*() {
      const queries = yield* archiveQueries
      const profiles = yield* Profiles
      const pseudonyms = yield* Pseudonyms
      const sessions = yield* Sessions
      const tokens = yield* PersonalAccessTokens

      const routesIn = (owner: UserId, rows: Iterable<Sized<RouteId>>) =>
        inPages(rows, (ids) => Effect.orDie(queries.routePage({ owner, ids })))

      const gpxFiles = Effect.fnUntraced(function*(
        add: AddFile,
        owner: UserId,
        routes: ReadonlyArray<Sized<RouteId>>,
        versions: Map<RouteId, number>
      ) {
        const files: Array<ArchivedFile> = []
        yield* Stream.runForEach(routesIn(owner, routes), (row) =>
          Effect.gen(function*() {
            if (versions.get(row.id) !== row.version) return
            const document = yield* toDocument(toStoredRoute(row, pseudonyms))
            const pieces = Stream.fromIterable(writeRouteFile(document, "gpx"), { chunkSize: 1 })
            files.push(yield* add(gpxName(row.id, row.name), pieces))
            versions.delete(row.id)
          }))
        return files
      })

      const write = (userId: UserId, current: SessionId, routes: ReadonlyArray<Sized<RouteId>>) => (add: AddFile) =>
        Effect.gen(function*() {
          const createdAt = new Date(yield* Clock.currentTimeMillis).toISOString()
          const profile = yield* add("profile.json", asJson(yield* profiles.profile(userId)))

          const versions = new Map<RouteId, number>()
          const routeLines = Stream.map(routesIn(userId, routes), ({ origin, ...row }) => {
            versions.set(row.id, row.version)
            const { geometry, version: _, waypoints, ...members } = toStoredRoute(row, pseudonyms)
            const line = geometry === undefined ? "" : `,"geometry":${geometry}`
            return `${JSON.stringify({ ...members, origin }).slice(0, -1)},"waypoints":${waypoints}${line}}`
          })
          const routesFile = yield* add("routes.json", asLines(routeLines))
          const routeCount = versions.size
          const gpx = yield* gpxFiles(add, userId, routes, versions)

          const collections = new Set<CollectionId>()
          const collectionLines = inPages(
            yield* Effect.orDie(queries.collectionsOf(userId)),
            (ids) => Effect.orDie(queries.collectionPage({ owner: userId, ids }))
          ).pipe(Stream.map((row) => {
            collections.add(row.id)
            return JSON.stringify(toArchived(row))
          }))
          const collectionsFile = yield* add("collections.json", asLines(collectionLines))

          const tokenList = yield* tokens.list(userId)
          const sessionList = (yield* sessions.list(userId, current)).map(Struct.omit(["id"]))
          const manifest: Manifest = {
            format: "route-planning-service/account",
            version: 1,
            createdAt,
            counts: {
              routes: routeCount,
              collections: collections.size,
              tokens: tokenList.length,
              sessions: sessionList.length
            },
            changedMeanwhile: [...versions.keys()],
            files: [
              profile,
              routesFile,
              ...gpx,
              collectionsFile,
              yield* add("tokens.json", asJson(tokenList)),
              yield* add("sessions.json", asJson(sessionList))
            ]
          }
          yield* add("manifest.json", asJson(manifest))
        }).pipe(
          Effect.withSpan("AccountExport.write"),
          Effect.tapCause((cause) =>
            Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("an export broke off", cause)
          )
        )

      return AccountExport.of({
        archive: Effect.fn("AccountExport.archive")(function*(userId, current) {
          return zipOf(write(userId, current, yield* queries.routesOf(userId)))
        }, Effect.orDie)
      })
    })
  )
}

const inPages = <Id, Row>(
  rows: Iterable<Sized<Id>>,
  read: (ids: ReadonlyArray<Id>) => Effect.Effect<ReadonlyArray<Row>>
): Stream.Stream<Row> =>
  Stream.fromIterable(pagesOf(rows), { chunkSize: 1 }).pipe(
    Stream.mapEffect((ids) => Effect.withSpan(read(ids), "AccountExport.page")),
    Stream.flattenIterable
  )

const asJson = (value: unknown) => Stream.make(`${JSON.stringify(value, null, 2)}\n`)

const asLines = (lines: Stream.Stream<string>) =>
  Stream.intersperseAffixes(lines, { start: "[\n", middle: ",\n", end: "\n]\n" })

const toArchived = (row: ArchivedCollectionRow) => ({
  id: row.id,
  origin: row.origin,
  name: row.name,
  ...(row.description === null ? {} : { description: row.description }),
  visibility: row.visibility,
  routeIds: row.route_ids,
  others: row.others,
  shareToken: row.share_token,
  createdAt: row.created_at,
  updatedAt: row.updated_at
})
