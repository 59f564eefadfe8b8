import { Clock, Config, Context, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { NotFound } from "../schema/Errors.ts"
import type { GeometryForm } from "../schema/Geometry.ts"
import { RouteId, UserId } from "../schema/Ids.ts"
import type { Page } from "../schema/Page.ts"
import type { StoredRoute } from "../schema/Route.ts"
import { Pseudonyms } from "./Pseudonyms.ts"
import { routeColumns, RouteRow, toStoredRoute } from "./RouteRows.ts"
import type { PageOf } from "./Routes.ts"

/** How long a deleted route can be taken back. */
const KEPT_FOR = Duration.toMillis(Duration.days(30))

const BATCH = 500

const kept = Effect.map(Clock.currentTimeMillis, (now) => ({ now: new Date(now), since: new Date(now - KEPT_FOR) }))

/** Deleted routes, for 30 days. */
export class RouteBin extends Context.Service<RouteBin, {
  /** An owner's deleted routes that can be taken back, newest deletion first. */
  readonly list: (owner: UserId, page: Page, form: GeometryForm) => Effect.Effect<PageOf<StoredRoute>>
  /** Takes a route back as it was. Of any number of callers at once one does it. */
  readonly restore: (owner: UserId, id: RouteId) => Effect.Effect<StoredRoute, NotFound>
}>()("route-planning-service/RouteBin") {
  static readonly layer = Layer.effect(
    RouteBin,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const decodeRows = Schema.decodeUnknownEffect(Schema.Array(RouteRow))

      const putBack = SqlSchema.findOneOption({
        Request: Schema.Struct({ owner: UserId, id: RouteId, since: Schema.Date, now: Schema.Date }),
        Result: RouteRow,
        execute: ({ id, now, owner, since }) =>
          sql`
            WITH r AS (
              UPDATE routes SET deleted_at = NULL, updated_at = ${now}, version = version + 1
              WHERE id = ${id} AND user_id = ${owner} AND deleted_at > ${since} RETURNING *
            )
            SELECT ${sql.literal(routeColumns("full"))} FROM r JOIN users u ON u.id = r.user_id`
      })

      return RouteBin.of({
        list: Effect.fn("RouteBin.list")(
          function*(owner, { limit, offset }, form) {
            const { since } = yield* kept
            const where = sql`r.user_id = ${owner} AND r.deleted_at > ${since}`
            const counted = yield* sql<{ total: number }>`SELECT count(*)::int AS total FROM routes r WHERE ${where}`
            const rows = yield* sql`
            SELECT ${sql.literal(routeColumns(form))} FROM routes r JOIN users u ON u.id = r.user_id
            WHERE ${where} ORDER BY r.deleted_at DESC, r.id DESC LIMIT ${limit} OFFSET ${offset}`
            const items = yield* decodeRows(rows)
            return { total: counted[0]?.total ?? 0, items: items.map((row) => toStoredRoute(row, pseudonyms)) }
          },
          sql.withTransaction,
          Effect.orDie
        ),

        restore: Effect.fn("RouteBin.restore")(function*(owner, id) {
          const row = yield* putBack({ owner, id, ...yield* kept })
          return row._tag === "Some"
            ? toStoredRoute(row.value, pseudonyms)
            : yield* new NotFound({ message: "No such route" })
        }, Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die }))
      })
    })
  )
}

const sweepInterval = Config.Duration("PURGE_SWEEP_INTERVAL").pipe(Config.withDefault(Duration.hours(1)))

/**
 * Erases for good what was deleted 30 days ago: in small batches that any number of processes may take, so that none of
 * them holds up others and any may end.
 */
export const routePurgeLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const interval = yield* sweepInterval

  const purge: Effect.Effect<void, unknown> = Effect.gen(function*() {
    const { since } = yield* kept
    const rows = yield* sql`
      DELETE FROM routes WHERE id IN (
        SELECT id FROM routes WHERE deleted_at <= ${since} ORDER BY deleted_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      ) RETURNING id`
    if (rows.length === BATCH) yield* purge
  })

  yield* purge.pipe(
    Effect.withSpan("RouteBin.purge"),
    Effect.catchCause((cause) => Effect.logError("deleted routes could not be purged", cause)),
    Effect.andThen(Effect.sleep(interval)),
    Effect.forever,
    Effect.forkScoped
  )
}))
