import { Cause, Context, DateTime, Effect, Exit, Layer, Schedule, type Stream, Struct } from "effect"
import type { ArchivedFile, Manifest } from "../../schema/Archive.ts"
import type { CollectionId, RouteId, SessionId, UserId } from "../../schema/Ids.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { PrivacyZones } from "../accounts/PrivacyZones.ts"
import { Profiles } from "../accounts/Profiles.ts"
import { PersonalAccessTokens } from "../credentials/PersonalAccessTokens.ts"
import { Sessions } from "../credentials/Sessions.ts"
import type { Overloaded, SpoolFull } from "../DomainErrors.ts"
import { writeRouteFile } from "../files/RouteFile.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { textOf, withMembers } from "../json/JsonText.ts"
import { Bulkheads } from "../limits/Bulkheads.ts"
import { toDocument } from "../routes/RouteFiles.ts"
import { toStoredRoute } from "../routes/RouteRows.ts"
import { Spool } from "../spool/Spool.ts"
import { traced } from "../tracing/Traced.ts"
import { type ArchivedCollectionRow, type ArchivedRouteRow, archiveQueries } from "./ArchiveRows.ts"
import { asJson, asLines, type TakeText } from "./Contents.ts"
import { gpxName } from "./FileNames.ts"
import { pagesOf, type Sized } from "./Pages.ts"
import { type AddFile, zipOf } from "./ZipWriter.ts"

/** A started export waits for disk space, which other exports free as their files are sent. */
const WAIT_FOR_ROOM = {
  schedule: Schedule.spaced("1 second"),
  times: 60,
  while: ({ _tag }: SpoolFull | Overloaded) => _tag === "SpoolFull"
}

interface Order {
  readonly userId: UserId
  readonly current: SessionId
  readonly routes: ReadonlyArray<Sized<RouteId>>
}

/**
 * An account as one ZIP archive. `routes.json` and `collections.json` are JSON arrays with one element per line, to be
 * read line by line. `manifest.json` comes last, with size and SHA-256 of every other file. No secrets but share tokens:
 * tokens and sessions only as listed, without session ids, no links. No deleted routes.
 * No transaction or connection stays open while a client reads, so this is no snapshot: a route changed or deleted
 * after it was written to `routes.json` gets no GPX file, and is listed in `changedMeanwhile`.
 */
export class AccountExport extends Context.Service<AccountExport, {
  /** Contents are listed before the first byte, and read as the stream is consumed. */
  readonly archive: (userId: UserId, current: SessionId) => Effect.Effect<Stream.Stream<Uint8Array>, Overloaded>
}>()("route-planning-service/AccountExport") {
  static readonly layer = Layer.effect(
    AccountExport,
    Effect.gen(function*() {
      const { exports } = yield* Bulkheads
      const queries = yield* archiveQueries
      const spool = yield* Spool
      const profiles = yield* Profiles
      const zones = yield* PrivacyZones
      const pseudonyms = yield* Pseudonyms
      const sessions = yield* Sessions
      const tokens = yield* PersonalAccessTokens

      // Retries after each timeout: the export has begun.
      const inTurn = <A>(page: Effect.Effect<A>) => Effect.eventually(exports(page))

      const take: TakeText = (texts) => spool.take(texts).pipe(Effect.retry(WAIT_FOR_ROOM), Effect.orDie)

      const readRoutes = (owner: UserId) => (ids: ReadonlyArray<RouteId>) =>
        inTurn(Effect.orDie(queries.routePage({ owner, ids })))

      const addRoutes = Effect.fnUntraced(function*(add: AddFile, { routes, userId }: Order) {
        const versions = new Map<RouteId, number>()
        const lineOf = (row: ArchivedRouteRow) => {
          versions.set(row.id, row.version)
          return routeLine(toStoredRoute(row, pseudonyms), row.origin)
        }
        const file = yield* add(
          "routes.json",
          (file) => asLines(pagesOf(routes), readRoutes(userId), lineOf, take, file)
        )
        return { file, versions }
      })

      // Not a generator in the loop: V8 keeps its closure alive until the next full garbage collection.
      const gpxOf = Effect.fnUntraced(function*(row: ArchivedRouteRow) {
        const document = yield* Effect.exit(toDocument(toStoredRoute(row, pseudonyms)))
        if (Exit.isFailure(document)) {
          yield* Effect.logError("unreadable line left out").pipe(Effect.annotateLogs({ table: "routes", id: row.id }))
          return []
        }
        const { id, name } = row
        return [{ id, name: gpxName(id, name), gpx: yield* take(writeRouteFile(document.value, "gpx")) }]
      })

      const addGpx = Effect.fnUntraced(function*(
        add: AddFile,
        { routes, userId }: Order,
        versions: ReadonlyMap<RouteId, number>
      ) {
        const files = new Map<RouteId, ArchivedFile>()

        const addFile = ({ gpx, id, name }: Effect.Success<ReturnType<typeof gpxOf>>[number]) =>
          Effect.map(add(name, ({ send }) => send(gpx)), (file) => files.set(id, file))

        const addPage = (ids: ReadonlyArray<RouteId>) =>
          readRoutes(userId)(ids).pipe(
            Effect.flatMap((rows) =>
              Effect.forEach(rows.filter(({ id, version }) => versions.get(id) === version), gpxOf)
            ),
            Effect.flatMap((pages) => Effect.forEach(pages.flat(), addFile, { discard: true })),
            Effect.scoped
          )

        for (const ids of pagesOf(routes)) yield* addPage(ids)
        return files
      })

      const addCollections = Effect.fnUntraced(function*(add: AddFile, owner: UserId) {
        const written = new Set<CollectionId>()
        const pages = pagesOf(yield* inTurn(Effect.orDie(queries.collectionsOf(owner))))
        const read = (ids: ReadonlyArray<CollectionId>) => inTurn(Effect.orDie(queries.collectionPage({ owner, ids })))
        const lineOf = (row: ArchivedCollectionRow) => {
          written.add(row.id)
          return collectionLine(row)
        }
        const file = yield* add("collections.json", (file) => asLines(pages, read, lineOf, take, file))
        return { file, count: written.size }
      })

      const write = traced("AccountExport.write")(
        function*(add: AddFile, order: Order) {
          const createdAt = (yield* DateTime.nowAsDate).toISOString()
          const profile = yield* add(
            "profile.json",
            asJson({
              ...yield* inTurn(profiles.profile(order.userId)),
              privacyZones: yield* inTurn(zones.list(order.userId))
            })
          )
          const routes = yield* addRoutes(add, order)
          const gpx = yield* addGpx(add, order, routes.versions)
          const collections = yield* addCollections(add, order.userId)
          const tokenList = yield* inTurn(tokens.list(order.userId))
          const sessionList = yield* inTurn(sessions.list(order.userId, order.current))
          const manifest: Manifest = {
            format: "route-planning-service/account",
            version: 1,
            createdAt,
            counts: {
              routes: routes.versions.size,
              collections: collections.count,
              tokens: tokenList.length,
              sessions: sessionList.length
            },
            changedMeanwhile: [...routes.versions.keys()].filter((id) => !gpx.has(id)),
            files: [
              profile,
              routes.file,
              ...gpx.values(),
              collections.file,
              yield* add("tokens.json", asJson(tokenList)),
              yield* add("sessions.json", asJson(sessionList.map(Struct.omit(["id"]))))
            ]
          }
          yield* add("manifest.json", asJson(manifest))
        },
        Effect.tapCause((cause) =>
          Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("export ended early", cause)
        )
      )

      return AccountExport.of({
        archive: traced("AccountExport.archive")(function*(userId, current) {
          const order = { userId, current, routes: yield* exports(Effect.orDie(queries.routesOf(userId))) }
          return zipOf((add) => write(add, order))
        })
      })
    })
  )
}

const routeLine = (route: StoredRoute, origin: string) => {
  const members = JSON.stringify({ ...Struct.omit(route, ["waypoints", "geometry", "cues", "version"]), origin })
  return textOf(
    withMembers(members, ["waypoints", route.waypoints], ["geometry", route.geometry], ["cues", route.cues])
  )
}

const collectionLine = (row: ArchivedCollectionRow) =>
  JSON.stringify({
    id: row.id,
    origin: row.origin,
    name: row.name,
    ...(row.description === null ? {} : { description: row.description }),
    visibility: row.visibility,
    routeIds: row.routeIds,
    others: row.others,
    shareToken: row.shareToken,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt
  })
