import {
  Cause,
  Context,
  DateTime,
  Effect,
  Exit,
  Layer,
  Schedule,
  Schema,
  type Scope,
  type Stream,
  Struct
} from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { ArchivedFile, Manifest } from "../../schema/Archive.ts"
import { CollectionId, RouteId, type SessionId, ShareToken, UserId } from "../../schema/Ids.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { Profiles } from "../accounts/Profile.ts"
import { Sessions } from "../accounts/Sessions.ts"
import { PersonalAccessTokens } from "../accounts/Tokens.ts"
import { PrivacyZones } from "../accounts/Zones.ts"
import { Lanes } from "../admission/Lanes.ts"
import { textOf, withMembers } from "../bodies/JsonText.ts"
import { CollectionRecord } from "../collections/CollectionRows.ts"
import { findReadable } from "../db/Lists.ts"
import { columnsOf, TimestampColumn } from "../db/Tables.ts"
import type { Overloaded, SpoolFull } from "../DomainErrors.ts"
import { writeRouteFile } from "../files/RouteFile.ts"
import { Spool, type SpooledFile } from "../files/Spool.ts"
import { Pseudonyms, slugOf } from "../identity/Names.ts"
import { toDocument } from "../routes/RouteFiles.ts"
import { ROUTE_COLUMNS, RouteRow, toStoredRoute } from "../routes/RouteRow.ts"
import { collectionVisibility, routeVisibility } from "../sharing/Visibility.ts"
import { type AddFile, type FileWriter, piecesOf, zipOf } from "./Zip.ts"

const archiveQueries = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const routes = routeVisibility(sql)
  const collections = collectionVisibility(sql)

  const identitiesOf = SqlSchema.findAll({
    Request: UserId,
    Result: Schema.Struct({ issuer: Schema.String, subject: Schema.String, linkedAt: TimestampColumn }),
    execute: (owner) =>
      sql`SELECT issuer, subject, created_at AS "linkedAt" FROM identities WHERE user_id = ${owner} ORDER BY created_at`
  })

  const routesOf = SqlSchema.findAll({
    Request: UserId,
    Result: Schema.Struct({ id: RouteId, bytes: Schema.Int }),
    execute: (owner) =>
      sql`
        SELECT id, coalesce(octet_length(waypoints), 0) + coalesce(octet_length(geometry), 0)
          + coalesce(octet_length(cues), 0) AS bytes FROM routes r
        WHERE ${routes.own(owner)} ORDER BY created_at, id`
  })

  const collectionsOf = SqlSchema.findAll({
    Request: UserId,
    Result: Schema.Struct({ id: CollectionId, bytes: Schema.Int }),
    execute: (owner) =>
      sql`
        SELECT id, 0 AS bytes FROM collections c
        WHERE ${collections.own(owner)} ORDER BY created_at, id`
  })

  const routePage = findReadable({
    table: "routes",
    Request: Schema.Struct({ owner: UserId, ids: Schema.Array(RouteId) }),
    Result: ArchivedRouteRow,
    execute: ({ ids, owner }) =>
      sql`
        SELECT ${sql.literal(ROUTE_COLUMNS.full)}, coalesce(r.imported_from, r.share_token) AS origin
        FROM routes r JOIN users u ON u.id = r.user_id
        WHERE ${sql.in("r.id", ids)} AND ${routes.own(owner)} ORDER BY r.created_at, r.id`
  })

  const collectionPage = findReadable({
    table: "collections",
    Request: Schema.Struct({ owner: UserId, ids: Schema.Array(CollectionId) }),
    Result: ArchivedCollectionRow,
    execute: ({ ids, owner }) =>
      sql`
        SELECT ${sql.literal(columnsOf(ArchivedColumns, "c"))}, coalesce(c.imported_from, c.share_token) AS origin,
          coalesce(inside.route_ids, '{}') AS "routeIds",
          coalesce(inside.others, '[]') AS others
        FROM collections c LEFT JOIN LATERAL (
          SELECT array_agg(r.id::float8 ORDER BY m.position, m.route_id) AS route_ids,
            json_agg(json_build_object('id', r.id, 'shareToken', r.share_token)) FILTER (WHERE r.user_id <> c.user_id)
              AS others
          FROM collection_routes m JOIN routes r ON r.id = m.route_id JOIN users u ON u.id = r.user_id
          WHERE m.collection_id = c.id AND ${routes.visible(sql.literal("c.user_id"))}
        ) inside ON true
        WHERE ${sql.in("c.id", ids)} AND ${collections.own(owner)} ORDER BY c.created_at, c.id`
  })

  return { identitiesOf, routesOf, collectionsOf, routePage, collectionPage }
})

const ArchivedRouteRow = Schema.Struct({ ...RouteRow.fields, origin: ShareToken })
type ArchivedRouteRow = typeof ArchivedRouteRow.Type

const ArchivedColumns = CollectionRecord.select.mapFields(
  Struct.pick(["id", "name", "description", "visibility", "shareToken", "createdAt", "updatedAt"])
)

const ArchivedCollectionRow = Schema.Struct({
  ...ArchivedColumns.fields,
  origin: ShareToken,
  routeIds: Schema.Array(RouteId),
  others: Schema.Array(Schema.Struct({ id: RouteId, shareToken: ShareToken }))
})
type ArchivedCollectionRow = typeof ArchivedCollectionRow.Type

type TakeText = (texts: Iterable<string>) => Effect.Effect<SpooledFile, never, Scope.Scope>

const asJson = (value: unknown) => ({ put }: FileWriter): Effect.Effect<void> =>
  put(`${JSON.stringify(value, null, 2)}\n`)

const asLines = Effect.fnUntraced(function*<Id, Row>(
  pages: Iterable<ReadonlyArray<Id>>,
  read: (ids: ReadonlyArray<Id>) => Effect.Effect<ReadonlyArray<Row>>,
  lineOf: (row: Row) => string,
  take: TakeText,
  { put, send }: FileWriter
) {
  const state = { before: "[\n" }

  const putLine = Effect.fnUntraced(function*(line: SpooledFile) {
    yield* put(state.before)
    yield* send(line)
    state.before = ",\n"
  })

  /** A page is spooled before it is sent, so that no row stays in memory for a slow reader. */
  const putPage = (ids: ReadonlyArray<Id>) =>
    read(ids).pipe(
      Effect.flatMap(Effect.forEach((row) => take(piecesOf(lineOf(row))))),
      Effect.flatMap(Effect.forEach(putLine, { discard: true })),
      Effect.scoped
    )

  for (const ids of pages) yield* putPage(ids)
  yield* put(state.before === "[\n" ? "[\n]\n" : "\n]\n")
})

const MAX_SLUG = 40

/** The id makes the name unique; the slug is for readers. */
const gpxName = (id: RouteId, name: string): string => `routes/${id}-${slugOf(name, MAX_SLUG) || "route"}.gpx`

const MAX_ROWS = 100
const MAX_BYTES = 64 * 1024

interface Sized<Id> {
  readonly id: Id
  readonly bytes: number
}

/** Returns pages of ids, in order, with at most 100 rows and about 64 KiB. A longer row is a page of its own. */
function* pagesOf<Id>(rows: Iterable<Sized<Id>>): Generator<ReadonlyArray<Id>> {
  let page: Array<Id> = []
  let total = 0
  for (const { bytes, id } of rows) {
    if (page.length > 0 && (page.length === MAX_ROWS || total + bytes > MAX_BYTES)) {
      yield page
      page = []
      total = 0
    }
    page.push(id)
    total += bytes
  }
  if (page.length > 0) yield page
}

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
 * Exports an account as one ZIP archive. `routes.json` and `collections.json` are JSON arrays with one element per
 * line. `manifest.json` comes last, with size and SHA-256 of every other file. The archive has no secrets but share
 * tokens: tokens and sessions are there only as they are listed, without session ids, and links are not. It has no
 * deleted routes. No transaction or connection stays open while a client reads, so this is no snapshot: a route changed
 * or deleted after it was written to `routes.json` gets no GPX file, and is in `changedMeanwhile`.
 */
export class AccountExport extends Context.Service<AccountExport, {
  /** Contents are listed before the first byte, and read as the stream is consumed. */
  readonly archive: (userId: UserId, current: SessionId) => Effect.Effect<Stream.Stream<Uint8Array>, Overloaded>
}>()("route-planning-service/AccountExport") {
  static readonly layer = Layer.effect(
    AccountExport,
    Effect.gen(function*() {
      const { exports } = yield* Lanes
      const queries = yield* archiveQueries
      const spool = yield* Spool
      const profiles = yield* Profiles
      const zones = yield* PrivacyZones
      const pseudonyms = yield* Pseudonyms
      const sessions = yield* Sessions
      const tokens = yield* PersonalAccessTokens

      // The turn is tried again after each timeout, since the export has begun.
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

      // The loop calls no generator: V8 keeps its closure alive until the next full garbage collection.
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

      const write = Effect.fnUntraced(
        function*(add: AddFile, order: Order) {
          const createdAt = (yield* DateTime.nowAsDate).toISOString()
          const profile = yield* add(
            "profile.json",
            asJson({
              ...yield* inTurn(profiles.profile(order.userId)),
              privacyZones: yield* inTurn(zones.list(order.userId)),
              identities: yield* inTurn(Effect.orDie(queries.identitiesOf(order.userId)))
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
        archive: Effect.fnUntraced(function*(userId, current) {
          const order = { userId, current, routes: yield* exports(Effect.orDie(queries.routesOf(userId))) }
          return zipOf((add) => write(add, order))
        })
      })
    })
  )
}

const routeLine = (route: StoredRoute, origin: string) => {
  const members = JSON.stringify({
    ...Struct.omit(route, ["waypoints", "geometry", "segments", "cues", "version"]),
    origin
  })
  return textOf(
    withMembers(
      members,
      ["waypoints", route.waypoints],
      ["geometry", route.geometry],
      ["segments", route.segments],
      ["cues", route.cues]
    )
  )
}

const collectionLine = (row: ArchivedCollectionRow) =>
  JSON.stringify({
    ...Struct.pick(row, ["id", "origin", "name"]),
    description: row.description ?? undefined,
    ...Struct.pick(row, ["visibility", "routeIds", "others", "shareToken", "createdAt", "updatedAt"])
  })
