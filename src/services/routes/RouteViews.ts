import {
  Cause,
  Config,
  Context,
  Duration,
  Effect,
  Fiber,
  FiberMap,
  FiberSet,
  Layer,
  Option,
  Schema,
  Semaphore
} from "effect"
import { SqlClient, type SqlConnection, SqlSchema, type Statement } from "effect/sql"
import { GeometryForm } from "../../schema/Geometry.ts"
import { RouteId, type RouteRef, UserId } from "../../schema/Ids.ts"
import type { Place } from "../../schema/Route.ts"
import { HeavyWork } from "../admission/HeavyWork.ts"
import { databaseDefects, type DatabaseError, UNCONFIRMED } from "../db/DatabaseErrors.ts"
import { gatheredRead } from "../db/GatheredReads.ts"
import { plus, runSweep, scheduled, type Swept } from "../db/Sweeps.ts"
import { Missing, Overloaded } from "../DomainErrors.ts"
import { Places } from "../geometry/Places.ts"
import {
  ANONYMOUS,
  firstOpened,
  OpenedFields,
  type Opening,
  type OpeningColumn,
  routeVisibility
} from "../sharing/Visibility.ts"
import { asSeenBy, byForm, CUT_VERSION, IS_CURRENT, RouteRow, SEEN_COLUMNS, SHORT_SEEN_COLUMNS } from "./RouteRow.ts"
import { type Cut, cutRoute } from "./ZoneCut.ts"

const notMade = (what: string) => (cause: Cause.Cause<unknown>) =>
  Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError(`${what} not made`, cause)

/** A list waits this long for views, and shows the rest without lines. */
const MAX_LIST_WAIT = Duration.seconds(1)

const LIST_CONCURRENCY = 2

/** Several changes need one refresh. No change restarts the delay. */
const DELAY = Duration.seconds(1)

const BATCH = 100

const WholeRow = Schema.Struct({
  routeVersion: Schema.Int,
  zonesRevision: Schema.Int,
  placeVersion: Schema.Int,
  geometry: Schema.NullOr(Schema.String),
  segments: Schema.NullOr(Schema.String),
  waypoints: Schema.String,
  cues: Schema.NullOr(Schema.String),
  distance: Schema.NullOr(Schema.Finite),
  duration: Schema.NullOr(Schema.Finite),
  elevationGain: Schema.NullOr(Schema.Finite),
  placeCity: Schema.NullOr(Schema.String),
  placeRegion: Schema.NullOr(Schema.String),
  placeCountryCode: Schema.NullOr(Schema.String),
  circles: Schema.Array(Schema.Struct({ lng: Schema.Finite, lat: Schema.Finite, radius: Schema.Finite }))
})
type WholeRow = typeof WholeRow.Type

/** `route_views` has these columns beside its key; `search_vector` and `waypoint_names` make its `words`. */
const WRITTEN =
  ("route_version, zones_revision, place_version, cut_version, is_whole, distance, duration, elevation_gain, "
    + "position_count, geometry, simplified, polyline6, segments, simplified_segments, bounds, waypoints, cues, "
    + "start_address, end_address, place_city, place_region, place_country_code, words").split(", ")

const DueRow = Schema.Struct({ id: RouteId })

const decodeDue = Schema.decodeUnknownEffect(Schema.Array(DueRow))

/**
 * A view shows a route to others if its owner has privacy zones. It is cut once for a version of the route, the zones
 * and the places. A reader who finds no current view sees nothing that a zone may hide.
 */
export class RouteViews extends Context.Service<RouteViews, {
  /** Makes the view of a route unless it is current. Fails with `Overloaded` under load. */
  readonly make: (id: RouteId) => Effect.Effect<void, Overloaded>
  /** Reads a page again if views were missing, once they are made or a second has passed. */
  readonly completed: <E>(
    page: Effect.Effect<ReadonlyArray<SqlConnection.Row>, E>
  ) => Effect.Effect<ReadonlyArray<SqlConnection.Row>, E>
  /** Makes all views of an owner in the background, so that a search finds the routes again. */
  readonly refresh: (owner: UserId) => Effect.Effect<void>
  /** Works as `refresh`, waits until it is done, and returns how many routes were due. */
  readonly makeAll: (owner: UserId) => Effect.Effect<number>
}>()("route-planning-service/RouteViews") {
  static readonly layer = Layer.effect(
    RouteViews,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const heavy = yield* HeavyWork
      const places = yield* Places
      const visibility = routeVisibility(sql)
      const oneByOne = yield* Semaphore.make(1)

      // The work has the context of this layer: a transaction in a caller's context ends before it.
      const making = yield* FiberMap.make<RouteId, void, Overloaded>()
      const startMaking = yield* FiberMap.runtime(making)()
      const startRefreshing = yield* FiberSet.makeRuntime<never>()
      // The views of these owners are being made; true says that a route or the zones changed meanwhile.
      const refreshing = new Map<UserId, boolean>()

      const isDue = sql`
        u.zones_revision IS NOT NULL AND NOT EXISTS (
          SELECT FROM route_views v WHERE v.route_id = r.id AND ${sql.literal(IS_CURRENT)}
        )`

      const findDue = SqlSchema.findOneOption({
        Request: RouteId,
        Result: WholeRow,
        execute: (id) =>
          sql`
            SELECT r.version AS "routeVersion", u.zones_revision AS "zonesRevision", r.place_version AS "placeVersion",
              r.geometry, r.segments, r.waypoints, r.cues, r.distance, r.duration, r.elevation_gain AS "elevationGain",
              r.place_city AS "placeCity", r.place_region AS "placeRegion",
              r.place_country_code AS "placeCountryCode", coalesce((
                SELECT json_agg(json_build_object('lng', cut_lng, 'lat', cut_lat, 'radius', cut_radius))
                FROM privacy_zones WHERE user_id = u.id
              ), '[]') AS circles
            FROM routes r JOIN users u ON u.id = r.user_id WHERE r.id = ${id} AND ${isDue}`
      })

      const findDueOf = SqlSchema.findAll({
        Request: Schema.Struct({ owner: UserId, after: Schema.Int }),
        Result: DueRow,
        execute: ({ after, owner }) =>
          sql`
            SELECT r.id FROM routes r JOIN users u ON u.id = r.user_id
            WHERE r.user_id = ${owner} AND r.id > ${after} AND ${visibility.shared(ANONYMOUS)} AND ${isDue}
            ORDER BY r.id LIMIT ${BATCH}`
      })

      /** A part of a hidden start's place is shown if the remaining line begins in it too: a region or a country may be a village. */
      const placeOf = Effect.fnUntraced(function*(row: WholeRow, { isStartHidden, start }: NonNullable<Cut>) {
        if (!isStartHidden) return row
        const seen: Place = start === undefined ? {} : yield* places.at(start)
        const shown = (part: keyof Place) => seen[part] === row[part] ? row[part] : null
        return {
          placeCity: shown("placeCity"),
          placeRegion: shown("placeRegion"),
          placeCountryCode: shown("placeCountryCode")
        }
      })

      // Nothing is stored if the route changed since it was read, and no view of later zones is replaced. A reader
      // waits for it, and a view that is lost is made again.
      const store = Effect.fnUntraced(function*(id: RouteId, row: WholeRow, cut: Cut) {
        const place = cut === undefined ? undefined : yield* placeOf(row, cut)
        const city = place?.placeCity ?? null
        const region = place?.placeRegion ?? null
        const line = cut?.line
        const address = (column: "end_address" | "start_address", isHidden: boolean | undefined) =>
          isHidden === false ? sql`r.${sql(column)}` : sql`NULL`
        yield* sql`
          INSERT INTO route_views (route_id, ${sql.literal(WRITTEN.join(", "))})
          SELECT r.id, r.version, ${row.zonesRevision}::bigint, r.place_version, ${CUT_VERSION}::smallint,
            ${cut === undefined}, ${cut?.measures.distance ?? null}::float8, ${cut?.measures.duration ?? null}::float8,
            ${cut?.measures.elevationGain ?? null}::float8, ${line?.positionCount ?? 0}::int,
            ${line?.json ?? null}::text, ${line?.simplified ?? null}::text, ${line?.polyline6 ?? null}::text,
            ${line?.segments ?? null}::text, ${line?.simplifiedSegments ?? null}::text,
            ${cut?.box ?? null}::text::box, ${cut?.waypoints ?? null}::text, ${cut?.cues ?? null}::text,
            ${address("start_address", cut?.isStartHidden)}, ${address("end_address", cut?.isEndHidden)}, ${city}::text,
            ${region}::text, ${place?.placeCountryCode ?? null}::text, CASE WHEN ${
          cut !== undefined
        } THEN search_vector(concat_ws(' ', r.name, array_to_string(r.tags, ' '),
              r.description, ${city}::text, ${region}::text, waypoint_names(${cut?.waypoints ?? null}::text))) END
          FROM routes r
          WHERE r.id = ${id} AND r.version = ${row.routeVersion} AND r.place_version = ${row.placeVersion}
            AND ${sql.literal(UNCONFIRMED)} FOR KEY SHARE
          ON CONFLICT (route_id) DO UPDATE SET (${sql.literal(WRITTEN.join(", "))})
            = ROW (${sql.literal(WRITTEN.map((column) => `excluded.${column}`).join(", "))})
          WHERE route_views.zones_revision <= excluded.zones_revision`
      })

      const makeOnce = Effect.fnUntraced(function*(id: RouteId) {
        const found = yield* findDue(id)
        if (Option.isNone(found)) return
        const { cues, geometry, waypoints } = found.value
        const weight = waypoints.length + (geometry?.length ?? 0) + (cues?.length ?? 0)
        yield* store(id, found.value, yield* heavy.run(cutRoute, found.value, weight))
      }, databaseDefects)

      // Readers of one route wait for the same work, which outlives the first of them.
      const make = (id: RouteId) =>
        Effect.suspend(() =>
          Fiber.join(Option.getOrElse(FiberMap.getUnsafe(making, id), () => startMaking(id, makeOnce(id))))
        )

      /** Makes a view. One that cannot be made keeps no other from being made or listed. */
      const makeIfPossible = (id: RouteId) =>
        make(id).pipe(
          Effect.catchTag("Overloaded", () => Effect.logInfo("view of a route not made in advance")),
          Effect.catchCause(notMade("view of a route"))
        )

      const makeFrom = (owner: UserId, after: number): Effect.Effect<number> =>
        Effect.gen(function*() {
          const due = yield* findDueOf({ owner, after })
          // Owners take turns, so that none waits for all routes of another.
          for (const { id } of due) yield* oneByOne.withPermits(1)(makeIfPossible(id))
          const last = due.at(-1)
          return last === undefined || due.length < BATCH ? due.length : due.length + (yield* makeFrom(owner, last.id))
        }).pipe(Effect.orDie)

      const makeAll = Effect.fnUntraced(function*(owner: UserId) {
        yield* Effect.orDie(sql`
          DELETE FROM route_views v USING routes r, users u
          WHERE u.id = ${owner} AND u.zones_revision IS NULL AND r.user_id = u.id AND v.route_id = r.id`)
        return yield* makeFrom(owner, 0)
      })

      const makeUntilUnchanged = (owner: UserId): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (refreshing.get(owner) !== true) {
            refreshing.delete(owner)
            return Effect.void
          }
          return Effect.sleep(DELAY).pipe(
            Effect.andThen(Effect.sync(() => refreshing.set(owner, false))),
            Effect.andThen(makeAll(owner)),
            Effect.catchCause(notMade("views of an account")),
            Effect.andThen(makeUntilUnchanged(owner))
          )
        })

      return RouteViews.of({
        make,
        makeAll,

        completed: Effect.fnUntraced(function*(page) {
          const rows = yield* page
          const due = yield* Effect.orDie(decodeDue(rows.filter(({ isDue }) => isDue === true)))
          if (due.length === 0) return rows
          yield* Effect.forEach(due, ({ id }) => makeIfPossible(id), { concurrency: LIST_CONCURRENCY }).pipe(
            Effect.timeoutOption(MAX_LIST_WAIT)
          )
          return yield* page
        }),

        refresh: (owner) =>
          sql.afterCommit(Effect.sync(() => {
            const isRunning = refreshing.has(owner)
            refreshing.set(owner, true)
            if (!isRunning) startRefreshing(makeUntilUnchanged(owner))
          }))
      })
    })
  )
}

export const refreshShown = (
  views: RouteViews["Service"],
  { userId, visibility, zonesRevision }: Pick<RouteRow, "userId" | "visibility" | "zonesRevision">
): Effect.Effect<void> => zonesRevision === null || visibility === "private" ? Effect.void : views.refresh(userId)

const OWNERS_BATCH = 100

/** Makes views that a process left undone or an earlier version made; searches do not find those routes. */
const makeDue = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const views = yield* RouteViews

  const findOwners = SqlSchema.findAll({
    Request: Schema.Int,
    Result: Schema.Struct({ id: UserId }),
    execute: (after) =>
      sql`
        SELECT id FROM users WHERE zones_revision IS NOT NULL AND id > ${after} ORDER BY id LIMIT ${OWNERS_BATCH}`
  })

  const makeFrom = (after: number): Effect.Effect<Swept, unknown> =>
    Effect.gen(function*() {
      const owners = yield* findOwners(after)
      const made = yield* Effect.forEach(owners, ({ id }) => views.makeAll(id))
      const swept = { rows: made.reduce((sum, rows) => sum + rows, 0), lagMillis: 0 }
      const last = owners.at(-1)
      return last === undefined || owners.length < OWNERS_BATCH ? swept : plus(swept, yield* makeFrom(last.id))
    })

  return yield* makeFrom(0)
})

export const routeViewSweepLayer = Layer.effectDiscard(
  scheduled({
    longestSleep: Config.succeed(Duration.hours(1)),
    run: runSweep("views", makeDue),
    earliestDue: Effect.succeed(Option.none())
  })
)

interface Request {
  readonly ref: RouteRef
  readonly viewer: number
  readonly now: Date
  readonly form: GeometryForm
}

/** `cutRevision` is set if a privacy zone cuts the route for the viewer. */
const SeenRow = Schema.Struct({
  ...RouteRow.fields,
  ...OpenedFields,
  cutRevision: Schema.NullOr(Schema.Int),
  isDue: Schema.Boolean
})

const ShortRow = Schema.Struct({ ...SeenRow.fields, isLong: Schema.Boolean })

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(SeenRow))

const MAX_TRIES = 3

const RETRY_AFTER = Duration.seconds(1)

/** Reads a route as a viewer may see it. Its view is made first if there is none. */
export const seenRoutes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const views = yield* RouteViews
  const { selectOpened } = routeVisibility(sql)

  const select = (columns: string, opening: Opening | OpeningColumn, viewer: number | Statement.Fragment) =>
    selectOpened(sql.literal(columns), opening, viewer, asSeenBy(sql, viewer))

  const shortBy = <const T extends { readonly id: "bigint" } | { readonly token: "text" }>(
    key: T,
    opening: OpeningColumn
  ) =>
    byForm((form) =>
      gatheredRead(sql, {
        key: { ...key, viewer: "bigint" },
        select: select(SHORT_SEEN_COLUMNS[form], opening, sql.literal("k.viewer")),
        Result: ShortRow
      })
    )

  const shortById = shortBy({ id: "bigint" }, { by: "id", id: sql.literal("k.id") })
  const shortByToken = shortBy({ token: "text" }, { by: "shareToken", token: sql.literal("k.token") })

  const short = (opening: Exclude<Opening, { readonly by: "link" }>, { form, viewer }: Request) =>
    opening.by === "id"
      ? shortById[form]({ id: opening.id, viewer })
      : shortByToken[form]({ token: opening.token, viewer })

  const opened = Effect.fnUntraced(function*(opening: Opening, request: Request) {
    if (opening.by !== "link") {
      const row = yield* short(opening, request)
      if (Option.isNone(row)) return []
      if (!row.value.isLong) return [row.value]
    }
    return yield* decodeRows(yield* select(SEEN_COLUMNS[request.form], opening, request.viewer))
  })

  const find = (request: Request) =>
    Effect.map(
      firstOpened(request.ref, request.now, (opening) => opened(opening, request)),
      (rows) => Option.fromUndefinedOr(rows[0])
    )

  // A route that changes while its view is made needs another view.
  const seen: (
    request: Request,
    tries?: number
  ) => Effect.Effect<typeof SeenRow.Type, Missing | Overloaded | DatabaseError> = Effect.fnUntraced(function*(
    request,
    tries = MAX_TRIES
  ) {
    const row = yield* find(request)
    if (Option.isNone(row)) return yield* new Missing({ kind: "route" })
    if (!row.value.isDue) return row.value
    if (tries === 0) return yield* Overloaded.retryAfter("route_changes", RETRY_AFTER)
    yield* views.make(row.value.id)
    return yield* seen(request, tries - 1)
  })

  return seen
})
