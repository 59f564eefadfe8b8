import { Context, DateTime, Effect, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Missing } from "../../schema/DomainErrors.ts"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { RouteId, UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { deletionCutoff } from "../retention/DeletionCutoff.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import type { ListOrder } from "../sql/Keyset.ts"
import { countRows } from "../sql/Pages.ts"
import { readableRows } from "../sql/ReadableRows.ts"
import { traced } from "../tracing/Traced.ts"
import { boundedPage, extentOf } from "./RoutePages.ts"
import { RouteRecord } from "./RouteRecord.ts"
import { routeColumns, RouteRow, toStoredRoute } from "./RouteRows.ts"
import { RouteViews } from "./RouteViews.ts"

const NEWEST_DELETION: ListOrder = { by: "r.deleted_at", type: "timestamptz", id: "r.id", direction: "DESC" }

/** Deleted routes, for the grace period. */
export class RouteTrash extends Context.Service<RouteTrash, {
  /** An owner's routes that can be restored, newest deletion first. */
  readonly list: (owner: UserId, page: Page, form: GeometryForm) => Effect.Effect<PageOf<StoredRoute>>
  /** For a confirmation before restoring. */
  readonly requireOwn: (owner: UserId, id: RouteId) => Effect.Effect<typeof DeletedRow.Type, Missing>
  /** Restores a route as it was, a public one only if it `mayPublish`. Of concurrent callers one succeeds. */
  readonly restore: (
    owner: UserId,
    id: RouteId,
    options: { readonly mayPublish: boolean }
  ) => Effect.Effect<StoredRoute, Missing>
}>()("route-planning-service/RouteTrash") {
  static readonly layer = Layer.effect(
    RouteTrash,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const views = yield* RouteViews
      const decodeRows = readableRows("routes", RouteRow)

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

      return RouteTrash.of({
        list: traced("RouteTrash.list")(
          function*(owner, page, form) {
            const since = yield* deletionCutoff
            const from = sql`routes r WHERE r.user_id = ${owner} AND r.deleted_at > ${since}`
            const total = yield* countRows(sql, from)
            const rows = yield* boundedPage(sql, { from, order: NEWEST_DELETION, page, form, seenBy: "owner" })
            const items = (yield* decodeRows(rows)).map((row) => toStoredRoute(row, pseudonyms))
            return { ...yield* extentOf(rows), items, total }
          },
          sql.withTransaction,
          Effect.orDie
        ),

        requireOwn: traced("RouteTrash.requireOwn")(function*(owner, id) {
          const row = yield* findDeleted({ owner, id, since: yield* deletionCutoff })
          return Option.isSome(row) ? row.value : yield* new Missing({ kind: "route" })
        }, databaseDefects),

        restore: traced("RouteTrash.restore")(function*(owner, id, { mayPublish }) {
          const row = yield* restoreRow({
            owner,
            id,
            mayPublish,
            since: yield* deletionCutoff,
            now: yield* DateTime.nowAsDate
          })
          if (Option.isNone(row)) return yield* new Missing({ kind: "route" })
          if (row.value.zonesRevision !== null) yield* views.refresh(owner)
          return toStoredRoute(row.value, pseudonyms)
        }, databaseDefects)
      })
    })
  )
}

const DeletedRow = RouteRecord.select.mapFields(Struct.pick(["name", "visibility"]))
