import { Context, DateTime, Effect, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { RouteId, UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import type { DeletedStoredRoute, StoredRoute } from "../../schema/Route.ts"
import { Missing, type Overloaded } from "../DomainErrors.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { WriterTurns } from "../limits/WriterTurns.ts"
import { deletionCutoff, trashedAt } from "../retention/DeletionCutoff.ts"
import { DeletionColumn } from "../sql/Columns.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import type { ListOrder } from "../sql/Keyset.ts"
import { countRows } from "../sql/Pages.ts"
import { readableRows } from "../sql/ReadableRows.ts"
import { traced } from "../tracing/Traced.ts"
import { boundedPage, extentOf } from "./RoutePages.ts"
import { RouteRecord } from "./RouteRecord.ts"
import { routeColumns, RouteRow, toStoredRoute } from "./RouteRows.ts"
import { RouteViews } from "./RouteViews.ts"
import { trashQueries } from "./TrashQueries.ts"

const NEWEST_DELETION: ListOrder = { by: "r.deleted_at", type: "timestamptz", id: "r.id", direction: "DESC" }

/** Deleted routes, for the grace period. */
export class RouteTrash extends Context.Service<RouteTrash, {
  /** An owner's routes that can be restored, newest deletion first. */
  readonly list: (owner: UserId, page: Page, form: GeometryForm) => Effect.Effect<PageOf<DeletedStoredRoute>>
  /** How many `list` has. */
  readonly count: (owner: UserId) => Effect.Effect<number>
  /** For a confirmation before restoring or erasing. */
  readonly requireOwn: (owner: UserId, id: RouteId) => Effect.Effect<typeof DeletedRow.Type, Missing>
  /**
   * Restores a route as it was, a public one only if it `mayPublish`. Of concurrent callers one succeeds. In a turn of the
   * account (`WriterTurns`).
   */
  readonly restore: (
    owner: UserId,
    id: RouteId,
    options: { readonly mayPublish: boolean }
  ) => Effect.Effect<StoredRoute, Missing | Overloaded>
  /** Erases a route before its time, and so no longer counts it. In a turn of the account (`WriterTurns`), as `empty`. */
  readonly purge: (owner: UserId, id: RouteId) => Effect.Effect<void, Missing | Overloaded>
  /** Erases all of them, and what it leaves when it fails with another call. */
  readonly empty: (owner: UserId) => Effect.Effect<void, Overloaded>
}>()("route-planning-service/RouteTrash") {
  static readonly layer = Layer.effect(
    RouteTrash,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const views = yield* RouteViews
      const writers = yield* WriterTurns
      const queries = yield* trashQueries("route")
      const decodeRows = readableRows("routes", DeletedRouteRow)

      const restoreRow = SqlSchema.findOneOption({
        Request: Schema.Struct({
          owner: UserId,
          id: RouteId,
          mayPublish: Schema.Boolean,
          since: Schema.Date,
          now: Schema.Date
        }),
        Result: RouteRow,
        execute: ({ id, mayPublish, now, owner, since }) =>
          sql`
            WITH r AS (
              UPDATE routes SET deleted_at = NULL, updated_at = ${now}, version = version + 1
              WHERE id = ${id} AND user_id = ${owner} AND deleted_at > ${since}
                AND (${mayPublish} OR visibility <> 'public')
              RETURNING *
            )
            SELECT ${sql.literal(routeColumns("full"))} FROM r JOIN users u ON u.id = r.user_id`
      })

      const findDeleted = SqlSchema.findOneOption({
        Request: Schema.Struct({ owner: UserId, id: RouteId, since: Schema.Date }),
        Result: DeletedRow,
        execute: ({ id, owner, since }) =>
          sql`SELECT name, visibility FROM routes WHERE id = ${id} AND user_id = ${owner} AND deleted_at > ${since}`
      })

      const toDeleted = (row: typeof DeletedRouteRow.Type): DeletedStoredRoute => ({
        ...toStoredRoute(row, pseudonyms),
        ...trashedAt(row.deletedAt)
      })

      return RouteTrash.of({
        list: traced("RouteTrash.list")(
          function*(owner, page, form) {
            const since = yield* deletionCutoff
            const from = sql`routes r WHERE r.user_id = ${owner} AND r.deleted_at > ${since}`
            const total = yield* countRows(sql, from)
            const rows = yield* boundedPage(sql, {
              from,
              order: NEWEST_DELETION,
              page,
              form,
              seenBy: "owner",
              also: `r.deleted_at AS "deletedAt"`
            })
            const items = (yield* decodeRows(rows)).map(toDeleted)
            return { ...yield* extentOf(rows), items, total }
          },
          sql.withTransaction,
          Effect.orDie
        ),

        count: traced("RouteTrash.count")((owner) => queries.count(owner), Effect.orDie),

        requireOwn: traced("RouteTrash.requireOwn")(function*(owner, id) {
          const row = yield* findDeleted({ owner, id, since: yield* deletionCutoff })
          return Option.isSome(row) ? row.value : yield* new Missing({ kind: "route" })
        }, databaseDefects),

        restore: traced("RouteTrash.restore")(function*(owner, id, { mayPublish }) {
          const since = yield* deletionCutoff
          const now = yield* DateTime.nowAsDate
          const row = yield* writers.run(owner, restoreRow({ owner, id, mayPublish, since, now }))
          if (Option.isNone(row)) return yield* new Missing({ kind: "route" })
          if (row.value.zonesRevision !== null) yield* views.refresh(owner)
          return toStoredRoute(row.value, pseudonyms)
        }, databaseDefects),

        purge: traced("RouteTrash.purge")((owner, id) => queries.purge(owner, id), databaseDefects),
        empty: traced("RouteTrash.empty")((owner) => queries.empty(owner), databaseDefects)
      })
    })
  )
}

const DeletedRouteRow = Schema.Struct({ ...RouteRow.fields, deletedAt: DeletionColumn })

const DeletedRow = RouteRecord.select.mapFields(Struct.pick(["name", "visibility"]))
