import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { GeometryForm } from "../../schema/Geometry.ts"
import { RouteId, type RouteRef, UserId } from "../../schema/Ids.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { CueBeyondLine, Missing, type Overloaded, type QuotaExceeded, StaleVersion } from "../DomainErrors.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { quotaFailures } from "../limits/Quotas.ts"
import { WriterTurns } from "../limits/WriterTurns.ts"
import { LinkUses } from "../links/LinkUses.ts"
import { Places } from "../places/Places.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { makeSharedTime } from "../time/SharedTime.ts"
import { traced } from "../tracing/Traced.ts"
import { idOf, routeVisibility, type Viewer } from "../visibility/Visibility.ts"
import { newRoutes } from "./NewRoutes.ts"
import { ownRouteQueries } from "./OwnRoutes.ts"
import {
  boxOf,
  changedValues,
  type Line,
  lineOf,
  placeValues,
  requireOnLine,
  type RouteChange,
  type RouteDraft,
  startOf
} from "./RouteColumns.ts"
import { ChangedRouteRow, routesTable } from "./RouteRecord.ts"
import { routeColumns, RouteRow, type ShownRow, toStoredRoute } from "./RouteRows.ts"
import { refreshShown, RouteViews } from "./RouteViews.ts"
import { seenRoutes } from "./SeenRoutes.ts"

/** Versions that the caller accepts to change; undefined accepts any. */
export type ExpectedVersion = ReadonlyArray<number> | undefined

/**
 * Planned routes, their owners and visibility. A route that the viewer may not see is `Missing`. Changes take a turn of
 * the account (`WriterTurns`), and fail with `Overloaded` like it.
 */
export class Routes extends Context.Service<Routes, {
  /** Derives the place, and the distance unless given. */
  readonly create: (
    owner: UserId,
    route: RouteDraft
  ) => Effect.Effect<StoredRoute, CueBeyondLine | QuotaExceeded | Overloaded>
  /** Stores all routes or none, like `create`. */
  readonly createAll: (
    owner: UserId,
    routes: ReadonlyArray<RouteDraft>
  ) => Effect.Effect<Array<StoredRoute>, CueBeyondLine | QuotaExceeded | Overloaded>
  /**
   * By id: the owner's own, or public. By share token or link: public and unlisted for anyone, private for the owner. For
   * others without what is in the owner's privacy zones; `Overloaded` where that cannot be cut under load.
   */
  readonly get: (
    ref: RouteRef,
    viewer: Viewer,
    form: GeometryForm
  ) => Effect.Effect<StoredRoute, Missing | Overloaded>
  /** For the text of a confirmation. */
  readonly requireOwn: (owner: UserId, id: RouteId) => Effect.Effect<{ readonly name: string }, Missing>
  /** All or nothing. */
  readonly update: (
    owner: UserId,
    id: RouteId,
    patch: RouteChange,
    expected: ExpectedVersion
  ) => Effect.Effect<StoredRoute, CueBeyondLine | Missing | StaleVersion | QuotaExceeded | Overloaded>
  /** Soft delete: hidden from everyone at once, erased after the grace period. */
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
      const columns = (form: GeometryForm) => sql.literal(routeColumns(form))
      const { findName, lock, lockStart } = yield* ownRouteQueries
      const seen = yield* seenRoutes
      const store = yield* newRoutes
      const writers = yield* WriterTurns

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
            SELECT ${columns(form)} FROM r JOIN users u ON u.id = r.user_id`
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

      // Locked, so that of two devices that saw the same version one gets a conflict.
      const lockExpected = Effect.fnUntraced(
        function*(owner: UserId, id: RouteId, expected: ExpectedVersion, line?: Line) {
          const stored = yield* lock({ owner, id, line: line === null ? null : line?.json })
          if (Option.isNone(stored)) return yield* new Missing({ kind: "route" })
          if (expected !== undefined && !expected.includes(stored.value.version)) {
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

      return Routes.of({
        create: traced("Routes.create")(store, quotaFailures),

        createAll: traced("Routes.createAll")(
          (owner, routes) =>
            writers.run(owner, sql.withTransaction(Effect.forEach(routes, (route) => store(owner, route)))),
          quotaFailures
        ),

        get: traced("Routes.get")(function*(ref, viewer, form) {
          const viewerId = idOf(viewer)
          const row = yield* seen({ ref, viewer: viewerId, now: yield* DateTime.nowAsDate, form })
          const route = toStoredRoute(row, pseudonyms)
          if (route.user.id === viewerId) return route
          return {
            ...route,
            favourite: false,
            ...(row.cutRevision === null ? {} : { cutRevision: row.cutRevision }),
            ...yield* links.follow(ref, row)
          }
        }, databaseDefects),

        requireOwn: traced("Routes.requireOwn")(function*(owner, id) {
          const row = yield* findName({ owner, id })
          return Option.isSome(row) ? row.value : yield* new Missing({ kind: "route" })
        }, databaseDefects),

        update: traced("Routes.update")(
          function*(owner, id, change, expected) {
            const line = lineOf(change.geometry)
            const now = yield* DateTime.nowAsDate
            const { hasDistance, hasLine, positions } = yield* lockExpected(owner, id, expected, line)
            // The same line again keeps its cues and measures; it is measured where it has no distance.
            const measured = hasLine && !hasDistance && change.distance === undefined && line
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
          (change, owner) => writers.run(owner, change),
          quotaFailures
        ),

        remove: traced("Routes.remove")(
          function*(owner, id, expected) {
            const now = new Date(yield* sharedTime)
            yield* lockExpected(owner, id, expected)
            yield* sql`UPDATE routes SET deleted_at = ${now}, version = version + 1 WHERE id = ${id}`
          },
          sql.withTransaction,
          (change, owner) => writers.run(owner, change),
          databaseDefects
        )
      })
    })
  )
}

/** With the polyline just stored: as long as a body, it need not come back from the database. */
const withLine = (row: RouteRow, line: Line, cues: string | null = null): ShownRow =>
  line === undefined ? row : { ...row, geometry: line === null ? null : line.json, cues }
