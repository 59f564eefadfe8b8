import { Context, DateTime, Effect, flow, Layer, Option, Result, Schema, Struct } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { GeometryForm } from "../../schema/Geometry.ts"
import { RouteId, type RouteRef, UserId } from "../../schema/Ids.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { Lanes } from "../admission/Lanes.ts"
import { quotaFailures } from "../admission/Quotas.ts"
import { databaseDefects, type DatabaseError } from "../db/DatabaseErrors.ts"
import { replicaReads } from "../db/ReadReplicas.ts"
import { makeSharedTime } from "../db/SharedTime.ts"
import { clientColumns, columnsOf, FIRST_VERSION, TimestampColumn, UNLESS_MADE } from "../db/Tables.ts"
import {
  ClientIdUsed,
  CueBeyondLine,
  Missing,
  Overloaded,
  type QuotaExceeded,
  SourceUsed,
  StaleVersion
} from "../DomainErrors.ts"
import { Places } from "../geometry/Places.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { LinkUses } from "../sharing/LinkUses.ts"
import { shareTokens } from "../sharing/ShareLinks.ts"
import { idOf, routeVisibility, type Viewer } from "../sharing/Visibility.ts"
import {
  boxOf,
  ChangedRouteRow,
  changedValues,
  forOthers,
  type Line,
  lineOf,
  OWNER_COLUMNS,
  OwnerColumns,
  placeValues,
  requireOnLine,
  ROUTE_COLUMNS,
  type RouteChange,
  type RouteDraft,
  RouteRecord,
  RouteRow,
  routesTable,
  type ShownRow,
  startOf,
  toStoredRoute,
  valuesWithoutPlace
} from "./RouteRow.ts"
import { refreshShown, RouteViews, seenRoutes } from "./RouteViews.ts"

const OwnRoute = Schema.Struct({ owner: UserId, id: RouteId })

const StoredRow = Schema.Struct({
  version: Schema.Int,
  updatedAt: TimestampColumn,
  positions: Schema.Int,
  hasDistance: Schema.Boolean,
  hasGaps: Schema.Boolean,
  hasLine: Schema.Boolean
})

const Text = Schema.UndefinedOr(Schema.NullOr(Schema.String))

const StartRow = Schema.Struct({
  hasGeometry: Schema.Boolean,
  waypoints: Schema.fromJsonString(
    Schema.NonEmptyArray(Schema.Struct({ coord: Schema.Tuple([Schema.Finite, Schema.Finite]) }))
  )
})

/** A change of an owner's route reads these first. The locks last until the transaction ends. */
const ownRouteQueries = Effect.map(SqlClient.SqlClient, (sql) => {
  const visibility = routeVisibility(sql)
  return {
    findName: SqlSchema.findOneOption({
      Request: OwnRoute,
      Result: RouteRecord.select.mapFields(Struct.pick(["name"])),
      execute: ({ id, owner }) => sql`SELECT name FROM routes r WHERE r.id = ${id} AND ${visibility.own(owner)}`
    }),

    /** `hasLine` is true if the given line, and the given segments, are those of the stored line or of its form that was read. */
    lock: SqlSchema.findOneOption({
      Request: Schema.Struct({ ...OwnRoute.fields, line: Text, polyline6: Text, segments: Text, form: GeometryForm }),
      Result: StoredRow,
      execute: ({ form, id, line, owner, polyline6, segments }) => {
        const has = (column: string, value: typeof line, segmentsColumn = "segments") =>
          value === undefined ? sql`false` : sql`${sql(column)} IS NOT DISTINCT FROM ${value}
            AND ${segments === undefined ? sql`true` : sql`${sql(segmentsColumn)} IS NOT DISTINCT FROM ${segments}`}`
        const lines = [has("geometry", line)]
        if (form === "simplified") lines.push(has("simplified", line, "simplified_segments"))
        if (form === "polyline6") lines.push(has("polyline6", polyline6))
        return sql`
          SELECT version, updated_at AS "updatedAt", position_count AS positions, distance IS NOT NULL AS "hasDistance",
            segments IS NOT NULL AS "hasGaps", ${sql.or(lines)} AS "hasLine"
          FROM routes r WHERE r.id = ${id} AND ${visibility.own(owner)} FOR NO KEY UPDATE`
      }
    }),

    lockStart: SqlSchema.findOneOption({
      Request: OwnRoute,
      Result: StartRow,
      execute: ({ id, owner }) =>
        sql`
          SELECT waypoints, coalesce(geometry, '[]') <> '[]' AS "hasGeometry" FROM routes r
          WHERE r.id = ${id} AND ${visibility.own(owner)} FOR NO KEY UPDATE`
    })
  }
})

/** Only the database knows these columns of a new route, and preferences as they are read. */
const AddedColumns = RouteRecord.select.mapFields(Struct.pick(["id", "version", "routingPreferences"]))

type Content = ReturnType<typeof valuesWithoutPlace> & ReturnType<typeof placeValues>

const sourceFailures = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchReason(
    effect,
    "SqlError",
    "UniqueViolation",
    (reason, error): Effect.Effect<never, SourceUsed | SqlError.SqlError> =>
      Effect.fail(reason.constraint === "routes_source_key" ? new SourceUsed() : error)
  )

/** An earlier call with the `clientId` made this route. */
interface Made {
  readonly clientId: string | null
  readonly clientDigest: string | null
  readonly content: Content
}

/** Stores a new route in a turn of its account (`Lanes.writes`), or fails with the one that its `clientId` has made. */
const newRoutes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const makeToken = yield* shareTokens
  const places = yield* Places
  const views = yield* RouteViews
  const pseudonyms = yield* Pseudonyms
  const { writes } = yield* Lanes
  const columns = sql.literal(`${columnsOf(AddedColumns, "r")}, ${OWNER_COLUMNS}`)

  const insert = SqlSchema.findOneOption({
    Request: Schema.toType(RouteRecord.insert),
    Result: Schema.Struct({ ...AddedColumns.fields, ...OwnerColumns }),
    execute: (row) =>
      sql`
        WITH r AS (${routesTable.insert(sql, row)} ${sql.literal(UNLESS_MADE)} RETURNING *)
        SELECT ${columns} FROM r JOIN users u ON u.id = r.user_id`
  })

  return Effect.fnUntraced(function*(
    owner: UserId,
    route: RouteDraft
  ): Effect.fn.Return<Result.Result<StoredRoute, Made>, CueBeyondLine | DatabaseError | Overloaded> {
    const now = yield* DateTime.nowAsDate
    const line = lineOf(route.geometry)
    yield* requireOnLine(route.cues, line?.positionCount ?? 0)
    const sent = valuesWithoutPlace(route, line)
    const content = { ...sent, ...placeValues(yield* places.at(startOf(line, route.waypoints))) }
    const client = clientColumns(route.clientId, { ...sent, simplified: null, polyline6: null })
    const values = {
      ...content,
      ...client,
      userId: owner,
      shareToken: yield* makeToken,
      importedFrom: null,
      publishedAt: route.visibility === "public" ? now : null,
      createdAt: now,
      updatedAt: now
    }
    const added = yield* writes(owner, insert(values)).pipe(
      // It may be stored all the same.
      Effect.onInterrupt(() => views.refresh(owner))
    )
    if (Option.isNone(added)) return Result.fail({ ...client, content })
    const instant = now.toISOString()
    const row = { ...values, ...added.value, createdAt: instant, updatedAt: instant, polyline6: null }
    yield* refreshShown(views, row)
    return Result.succeed(toStoredRoute(row, pseudonyms))
  })
})

/**
 * The caller accepts to change these versions; undefined accepts any. A restored database gives a version again: where
 * the caller knows the instant of the change, it tells them apart.
 */
export type ExpectedVersion =
  | ReadonlyArray<{ readonly version: number; readonly updatedAt?: string | undefined }>
  | undefined

export const isExpected = (
  expected: ExpectedVersion,
  stored: { readonly version: number; readonly updatedAt: string }
): boolean =>
  expected === undefined ||
  expected.some(({ updatedAt = stored.updatedAt, version }) =>
    version === stored.version && updatedAt === stored.updatedAt
  )

/**
 * A route that the viewer may not see is `Missing`. Changes take a turn of the account (`Lanes.writes`), and may fail
 * with `Overloaded`. The trigger `json_on_write` (`require_json`) refuses a line, waypoints or cues that are no JSON,
 * since responses have these texts unparsed.
 */
export class Routes extends Context.Service<Routes, {
  /**
   * Creates a route and derives its place, and its distance unless given. A repeat with its `clientId` returns the
   * first result, or with another content the route as it is now. Fails with `ClientIdUsed` if that is deleted.
   */
  readonly create: (
    owner: UserId,
    route: RouteDraft
  ) => Effect.Effect<StoredRoute, ClientIdUsed | CueBeyondLine | QuotaExceeded | SourceUsed | Overloaded>
  /** Stores all routes or none, like `create`. */
  readonly createAll: (
    owner: UserId,
    routes: ReadonlyArray<RouteDraft>
  ) => Effect.Effect<Array<StoredRoute>, ClientIdUsed | CueBeyondLine | QuotaExceeded | SourceUsed | Overloaded>
  /**
   * Reads a route. An id opens the owner's own and public routes; a share token or link opens public and unlisted
   * routes for anyone, private ones for the owner. Others do not see what is in the owner's privacy zones; fails with
   * `Overloaded` if this cannot be cut under load.
   */
  readonly get: (
    ref: RouteRef,
    viewer: Viewer,
    form: GeometryForm
  ) => Effect.Effect<StoredRoute, Missing | Overloaded>
  readonly requireOwn: (owner: UserId, id: RouteId) => Effect.Effect<{ readonly name: string }, Missing>
  /** Changes all given members or none. A line that was read in a form, `full` if absent, and is given again stays as it is stored. */
  readonly update: (
    owner: UserId,
    id: RouteId,
    patch: RouteChange,
    expected: ExpectedVersion,
    form?: GeometryForm
  ) => Effect.Effect<StoredRoute, CueBeyondLine | Missing | StaleVersion | QuotaExceeded | SourceUsed | Overloaded>
  /** Hides a route from everyone at once; it is erased after the grace period. */
  readonly remove: (
    owner: UserId,
    id: RouteId,
    expected: ExpectedVersion
  ) => Effect.Effect<void, Missing | StaleVersion | Overloaded>
}>()("route-planning-service/Routes") {
  static readonly layer = Layer.effect(
    Routes,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const sharedTime = yield* makeSharedTime
      const places = yield* Places
      const views = yield* RouteViews
      const pseudonyms = yield* Pseudonyms
      const links = yield* LinkUses
      const visibility = routeVisibility(sql)
      const { findName, lock, lockStart } = yield* ownRouteQueries
      const seen = yield* seenRoutes
      const { whileAway } = yield* replicaReads
      const store = yield* newRoutes
      const { writes } = yield* Lanes

      const applyPatch = SqlSchema.findOneOption({
        Request: Schema.Struct({
          owner: UserId,
          id: RouteId,
          changes: ChangedRouteRow,
          derived: ChangedRouteRow,
          now: Schema.Date,
          form: GeometryForm
        }),
        Result: RouteRow,
        execute: ({ changes, derived, form, id, now, owner }) =>
          sql`
            WITH changed AS (
              UPDATE routes r SET ${routesTable.set(sql, { ...changes, ...derived, updatedAt: now })},
                version = version + 1, published_at = ${
            changes.visibility === "public"
              ? sql`CASE WHEN visibility = 'public' THEN published_at ELSE ${now}::timestamptz END`
              : sql`published_at`
          }
              WHERE r.id = ${id} AND ${visibility.own(owner)}
                AND ${changes.geometry === undefined ? routesTable.differs(changes) : sql`true`} RETURNING *
            ), r AS (
              SELECT * FROM changed UNION ALL
              SELECT * FROM routes r
              WHERE r.id = ${id} AND ${visibility.own(owner)} AND NOT EXISTS (SELECT FROM changed)
            )
            SELECT ${sql.literal(ROUTE_COLUMNS[form])} FROM r JOIN users u ON u.id = r.user_id`
      })

      // Start and bounding box depend on the patch and on the stored row, so the row is locked.
      const derivedAfter = Effect.fnUntraced(function*(owner: UserId, id: RouteId, patch: RouteChange) {
        if (patch.geometry === undefined && patch.waypoints === undefined) return {}
        const stored = yield* lockStart({ owner, id })
        if (Option.isNone(stored)) return {}
        if (patch.geometry === undefined && stored.value.hasGeometry) return {}
        const waypoints = patch.waypoints ?? stored.value.waypoints
        const line = lineOf(patch.geometry)
        return {
          ...placeValues(yield* places.at(startOf(line, waypoints))),
          bounds: boxOf(line, waypoints)
        }
      })

      // The route is locked, so that one of two devices that saw the same version gets a conflict.
      const lockExpected = Effect.fnUntraced(
        function*(owner: UserId, id: RouteId, expected: ExpectedVersion, line?: Line, form: GeometryForm = "full") {
          const given = line === null
            ? { line: null, polyline6: undefined, segments: undefined }
            : { line: line?.json, polyline6: line?.polyline6, segments: line?.segments }
          const stored = yield* lock({ owner, id, form, ...given })
          if (Option.isNone(stored)) return yield* new Missing({ kind: "route" })
          if (!isExpected(expected, stored.value)) {
            return yield* new StaleVersion({ kind: "route", current: stored.value.version })
          }
          return stored.value
        }
      )

      const found = (row: Option.Option<ShownRow>) =>
        Option.match(row, {
          onNone: () => Effect.fail(new Missing({ kind: "route" })),
          onSome: (row) => Effect.as(refreshShown(views, row), toStoredRoute(row, pseudonyms))
        })

      const findMade = SqlSchema.findOneOption({
        Request: Schema.Struct({ owner: UserId, clientId: Schema.NullishOr(Schema.String) }),
        Result: Schema.Struct({ id: RouteId, clientDigest: Schema.NullOr(Schema.String) }),
        execute: ({ clientId, owner }) =>
          sql`
            SELECT id, client_digest AS "clientDigest" FROM routes r
            WHERE r.client_id = ${clientId}::uuid AND ${visibility.own(owner)}`
      })

      const made = Effect.fnUntraced(function*(owner: UserId, { clientDigest, clientId, content }: Made) {
        const found = yield* findMade({ owner, clientId })
        if (Option.isNone(found)) return yield* new ClientIdUsed()
        const isRepeat = found.value.clientDigest === clientDigest
        const form = isRepeat ? "none" : "full"
        const row = yield* seen({ ref: found.value.id, viewer: owner, now: yield* DateTime.nowAsDate, form })
        const first = { ...row, ...content, polyline6: null, version: FIRST_VERSION, updatedAt: row.createdAt }
        return toStoredRoute(isRepeat ? first : row, pseudonyms)
      }, Effect.catchTag("Missing", () => Effect.fail(new ClientIdUsed())))

      const create = (owner: UserId, route: RouteDraft) =>
        Effect.flatMap(
          store(owner, route),
          Result.match({ onFailure: (client) => made(owner, client), onSuccess: Effect.succeed })
        )

      return Routes.of({
        create: flow(create, sourceFailures, quotaFailures),

        createAll: flow(
          (owner, routes) =>
            writes(owner, sql.withTransaction(Effect.forEach(routes, (route) => create(owner, route)))),
          sourceFailures,
          quotaFailures
        ),

        get: Effect.fnUntraced(function*(ref, viewer, form) {
          const viewerId = idOf(viewer)
          const row = yield* whileAway(
            seen({ ref, viewer: viewerId, now: yield* DateTime.nowAsDate, form }),
            ({ linkId, visibility }) => linkId === null && visibility === "public"
          )
          if (row.userId === viewerId) return toStoredRoute(row, pseudonyms)
          return {
            ...forOthers(row, pseudonyms),
            ...(row.cutRevision === null ? {} : { cutRevision: row.cutRevision }),
            ...yield* links.follow(ref, row)
          }
        }, databaseDefects),

        requireOwn: Effect.fnUntraced(function*(owner, id) {
          const row = yield* findName({ owner, id })
          return Option.isSome(row) ? row.value : yield* new Missing({ kind: "route" })
        }, databaseDefects),

        update: Effect.fnUntraced(
          function*(owner, id, change, expected, form) {
            const line = lineOf(change.geometry)
            const { hasDistance, hasGaps, hasLine, positions } = yield* lockExpected(owner, id, expected, line, form)
            const now = yield* DateTime.nowAsDate
            // A line that is stored keeps its cues, segments and measures; it is measured if it has no distance.
            const isMeasured = line?.positionCount === positions && (line.segments !== undefined || !hasGaps)
            const measured = hasLine && !hasDistance && change.distance === undefined && isMeasured && line
            const patch = {
              ...change,
              geometry: hasLine ? undefined : line,
              ...(measured ? { distance: measured.metres } : {})
            }
            const isNew = patch.geometry !== undefined
            yield* requireOnLine(patch.cues, isNew ? patch.geometry?.positionCount ?? 0 : positions)
            const changes = changedValues(patch)
            const derived = yield* derivedAfter(owner, id, patch)
            const row = yield* applyPatch({ owner, id, changes, derived, now, form: isNew ? "none" : "full" })
            return yield* found(Option.map(row, (row) => withLine(row, patch.geometry, changes.cues)))
          },
          sql.withTransaction,
          (change, owner) => writes(owner, change),
          sourceFailures,
          quotaFailures
        ),

        remove: Effect.fnUntraced(
          function*(owner, id, expected) {
            const now = new Date(yield* sharedTime)
            yield* lockExpected(owner, id, expected)
            yield* sql`UPDATE routes SET deleted_at = ${now}, version = version + 1 WHERE id = ${id}`
          },
          sql.withTransaction,
          (change, owner) => writes(owner, change),
          databaseDefects
        )
      })
    })
  )
}

/** Adds the polyline that was just stored: as long as a body, it need not come back from the database. */
const withLine = (row: RouteRow, line: Line, cues: string | null = null): ShownRow =>
  line === undefined
    ? row
    : { ...row, geometry: line === null ? null : line.json, segments: line?.segments ?? null, cues }
