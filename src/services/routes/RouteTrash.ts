import { Context, DateTime, Effect, flow, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, type SqlError, SqlSchema, type Statement } from "effect/sql"
import { type CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import type { DeletedStoredRoute, StoredRoute } from "../../schema/Route.ts"
import { forgetErased } from "../admission/IdempotencyKeys.ts"
import { Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { countRows, type ListOrder, readableRows } from "../db/Lists.ts"
import { deletionCutoff, PURGED_AT_ONCE, trashedAt } from "../db/Sweeps.ts"
import { DeletionColumn } from "../db/Tables.ts"
import { Missing, type Overloaded } from "../DomainErrors.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { boundedPage, extentOf, inOrder } from "./RouteLists.ts"
import { ROUTE_COLUMNS, type RouteForm, RouteRecord, RouteRow, toStoredRoute } from "./RouteRow.ts"
import { RouteViews } from "./RouteViews.ts"

const TABLES = { route: "routes", collection: "collections" } as const

const DeletedRow = RouteRecord.select.mapFields(Struct.pick(["name", "visibility"]))

/** Deleted resources stay until their grace period ends. Changes take a turn of the account (`Lanes.writes`). */
export interface Trash<Id, Restored, Refusal = Missing | Overloaded> {
  readonly count: (owner: UserId) => Effect.Effect<number>
  readonly requireOwn: (owner: UserId, id: Id) => Effect.Effect<typeof DeletedRow.Type, Missing>
  /** Restores a resource as it was, a public one only if it `mayPublish`. One of concurrent callers succeeds. */
  readonly restore: (
    owner: UserId,
    id: Id,
    options: { readonly mayPublish: boolean }
  ) => Effect.Effect<Restored, Refusal>
  /** Erases a resource before its time, so that it no longer counts. */
  readonly purge: (owner: UserId, id: Id) => Effect.Effect<void, Missing | Overloaded>
  /** Erases all in several transactions: after a failure another call erases the rest. */
  readonly empty: (owner: UserId) => Effect.Effect<void, Overloaded>
}

export const trashQueries = Effect.fnUntraced(function*(kind: keyof typeof TABLES) {
  const sql = yield* SqlClient.SqlClient
  const { writes } = yield* Lanes
  const table = sql(TABLES[kind])

  // The numbering of changes passes a deletion on to the collections that list a route, unless it is erased before.
  const erase = (owner: UserId, condition: Statement.Fragment) =>
    sql`
      WITH erased AS (DELETE FROM ${table} WHERE ${condition} RETURNING id, share_token, imported_from),
        forgotten AS (${forgetErased(sql, owner, TABLES[kind])}),
        passed_on AS (
          INSERT INTO pending_changes (user_id, type, id, version, is_listing)
          SELECT DISTINCT c.user_id, 'collection', c.id, c.version, false
          FROM erased e JOIN pending_changes p ON p.user_id = ${owner} AND p.type = ${kind} AND p.id = e.id AND p.is_listing
            JOIN collection_routes m ON m.route_id = e.id JOIN collections c ON c.id = m.collection_id
          WHERE c.deleted_at IS NULL
        )
      SELECT id FROM erased`

  // Rows are locked in the order of their ids, as a batch locks them.
  const purgeSome = (owner: UserId) =>
    erase(
      owner,
      sql`id IN (
        SELECT id FROM ${table} WHERE user_id = ${owner} AND deleted_at IS NOT NULL
        ORDER BY id LIMIT ${PURGED_AT_ONCE} FOR UPDATE
      )`
    )

  const empty = (owner: UserId): Effect.Effect<void, SqlError.SqlError | Overloaded> =>
    Effect.flatMap(
      writes(owner, purgeSome(owner)),
      (purged) => purged.length < PURGED_AT_ONCE ? Effect.void : empty(owner)
    )

  const findDeleted = SqlSchema.findOneOption({
    Request: Schema.Struct({ owner: UserId, id: Schema.Int, since: Schema.Date }),
    Result: DeletedRow,
    execute: ({ id, owner, since }) =>
      sql`SELECT name, visibility FROM ${table} WHERE id = ${id} AND user_id = ${owner} AND deleted_at > ${since}`
  })

  return {
    count: Effect.fnUntraced(function*(owner: UserId) {
      return yield* countRows(sql, sql`${table} WHERE user_id = ${owner} AND deleted_at > ${yield* deletionCutoff}`)
    }, Effect.orDie),

    requireOwn: Effect.fnUntraced(function*(owner: UserId, id: CollectionId | RouteId) {
      const row = yield* findDeleted({ owner, id, since: yield* deletionCutoff })
      return Option.isSome(row) ? row.value : yield* new Missing({ kind })
    }, databaseDefects),

    purge: Effect.fnUntraced(function*(owner: UserId, id: CollectionId | RouteId) {
      const since = yield* deletionCutoff
      const rows = yield* writes(
        owner,
        erase(owner, sql`id = ${id} AND user_id = ${owner} AND deleted_at > ${since}`)
      )
      if (rows.length === 0) return yield* new Missing({ kind })
    }, databaseDefects),

    empty: flow(empty, databaseDefects)
  }
})

const NEWEST_DELETION: ListOrder = { by: "r.deleted_at", type: "timestamptz", id: "r.id", direction: "DESC" }

export class RouteTrash extends Context.Service<
  RouteTrash,
  Trash<RouteId, StoredRoute> & {
    /** Lists an owner's routes that can be restored, newest deletion first. */
    readonly list: (owner: UserId, page: Page, form: RouteForm) => Effect.Effect<PageOf<DeletedStoredRoute>>
  }
>()("route-planning-service/RouteTrash") {
  static readonly layer = Layer.effect(
    RouteTrash,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const views = yield* RouteViews
      const { writes } = yield* Lanes
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
            SELECT ${sql.literal(ROUTE_COLUMNS.full)} FROM r JOIN users u ON u.id = r.user_id`
      })

      const toDeleted = (row: typeof DeletedRouteRow.Type): DeletedStoredRoute => ({
        ...toStoredRoute(row, pseudonyms),
        ...trashedAt(row.deletedAt)
      })

      return RouteTrash.of({
        ...queries,

        list: Effect.fnUntraced(
          function*(owner, page, form) {
            const since = yield* deletionCutoff
            const from = sql`routes r WHERE r.user_id = ${owner} AND r.deleted_at > ${since}`
            const total = yield* countRows(sql, from)
            const also = `r.deleted_at AS "deletedAt"`
            const selection = { from, order: NEWEST_DELETION, page, form, seenBy: { owner }, also }
            const rows = yield* inOrder(sql, boundedPage(sql, selection))
            const items = (yield* decodeRows(rows)).map(toDeleted)
            return { ...yield* extentOf(rows), items, total }
          },
          Effect.orDie
        ),

        restore: Effect.fnUntraced(function*(owner, id, { mayPublish }) {
          const since = yield* deletionCutoff
          const now = yield* DateTime.nowAsDate
          const row = yield* writes(owner, restoreRow({ owner, id, mayPublish, since, now })).pipe(
            // It may be restored all the same.
            Effect.onInterrupt(() => views.refresh(owner))
          )
          if (Option.isNone(row)) return yield* new Missing({ kind: "route" })
          if (row.value.zonesRevision !== null) yield* views.refresh(owner)
          return toStoredRoute(row.value, pseudonyms)
        }, databaseDefects)
      })
    })
  )
}

const DeletedRouteRow = Schema.Struct({ ...RouteRow.fields, deletedAt: DeletionColumn })
