import { Effect, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import type { StoredCollection } from "../../schema/Collection.ts"
import {
  CollectionIdColumn,
  RouteIdColumn,
  ShareTokenColumn,
  TimestampColumn,
  VersionColumn
} from "../../schema/Columns.ts"
import { CollectionId, type CollectionRef, RouteId, type UserId } from "../../schema/Ids.ts"
import type { Page } from "../../schema/Page.ts"
import { Visibility } from "../../schema/Preferences.ts"
import { ownerColumns, OwnerFields, toUserSummary } from "../identity/OwnerRows.ts"
import type { Pseudonyms } from "../identity/Pseudonyms.ts"
import { selectPage } from "../sql/Pages.ts"
import { readableRows } from "../sql/ReadableRows.ts"
import { collectionVisibility, idOf, NOBODY, routeVisibility, type Viewer } from "../visibility/Visibility.ts"

const CollectionRow = Schema.Struct({
  id: CollectionIdColumn,
  ...OwnerFields,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  visibility: Visibility,
  share_token: ShareTokenColumn,
  version: VersionColumn,
  created_at: TimestampColumn,
  updated_at: TimestampColumn,
  route_ids: Schema.Array(RouteId)
})
type CollectionRow = typeof CollectionRow.Type

const toStoredCollection = (row: CollectionRow, pseudonyms: Pseudonyms["Service"]): StoredCollection => ({
  id: row.id,
  name: row.name,
  ...(row.description === null ? {} : { description: row.description }),
  visibility: row.visibility,
  routeIds: row.route_ids,
  routeCount: row.route_ids.length,
  shareToken: row.share_token,
  user: toUserSummary(row, pseudonyms),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  version: row.version
})

/** A share token shows unlisted routes, so it is not for those who came by a collection's id. */
const withoutToken = (collection: StoredCollection): StoredCollection => Struct.omit(collection, ["shareToken"])

/** What reads and checks collections, from `collections c`, their members `m`, and the members' routes `r`. */
export const collectionQueries = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const visibility = collectionVisibility(sql)
  const routes = routeVisibility(sql)
  const decodeRows = readableRows("collections", CollectionRow)

  const columns = (viewer: number) =>
    sql`
      c.id, c.name, c.description, c.visibility, c.share_token, c.version, c.created_at, c.updated_at,
        ${sql.literal(ownerColumns)}, coalesce((
          SELECT array_agg(m.route_id::float8 ORDER BY m.position, m.route_id)
          FROM collection_routes m JOIN routes r ON r.id = m.route_id JOIN users u ON u.id = r.user_id
          WHERE m.collection_id = c.id AND ${routes.listed(viewer)}
        ), '{}') AS route_ids`

  const fromWhere = (where: Statement.Fragment) => sql`collections c JOIN users u ON u.id = c.user_id WHERE ${where}`

  const page = Effect.fnUntraced(
    function*(where: Statement.Fragment, viewer: number, wanted: Page, pseudonyms: Pseudonyms["Service"]) {
      const { items, total } = yield* selectPage(sql, {
        columns: columns(viewer),
        from: fromWhere(where),
        order: sql`c.created_at DESC, c.id DESC`,
        decode: decodeRows
      }, wanted)
      return { total, items: items.map((row) => toStoredCollection(row, pseudonyms)) }
    },
    sql.withTransaction,
    Effect.orDie
  )

  const findOrder = SqlSchema.findAll({
    Request: CollectionId,
    Result: MemberRow,
    execute: (id) => sql`SELECT route_id FROM collection_routes WHERE collection_id = ${id} ORDER BY position, route_id`
  })

  const decodeRow = Schema.decodeUnknownEffect(CollectionRow)

  return {
    /** A collection as a viewer sees it who opens it so. */
    find: Effect.fnUntraced(function*(ref: CollectionRef, viewer: Viewer, pseudonyms: Pseudonyms["Service"]) {
      const viewerId = idOf(viewer)
      const rows = yield* sql`SELECT ${columns(viewerId)} FROM ${fromWhere(visibility.visibleBy(ref, viewerId))}`
      if (rows[0] === undefined) return Option.none()
      const collection = toStoredCollection(yield* decodeRow(rows[0]), pseudonyms)
      const isByIdOfAnother = typeof ref === "number" && collection.user.id !== viewerId
      return Option.some(isByIdOfAnother ? withoutToken(collection) : collection)
    }),

    own: (owner: UserId, wanted: Page, pseudonyms: Pseudonyms["Service"]) =>
      page(visibility.own(owner), owner, wanted, pseudonyms),

    publicOf: (owner: UserId, wanted: Page, pseudonyms: Pseudonyms["Service"]) =>
      Effect.map(
        page(
          sql`c.user_id = ${owner} AND ${visibility.public}`,
          NOBODY,
          wanted,
          pseudonyms
        ),
        ({ items, total }) => ({ total, items: items.map(withoutToken) })
      ),

    /** Of these routes those that an owner may not put into a collection. */
    notAddable: Effect.fnUntraced(function*(
      owner: UserId,
      routeIds: ReadonlyArray<RouteId>,
      collection: CollectionId | undefined
    ) {
      if (routeIds.length === 0) return []
      const rows = yield* sql<{ id: bigint }>`
        SELECT r.id FROM routes r JOIN users u ON u.id = r.user_id
        WHERE ${sql.in("r.id", routeIds)} AND ${routes.addable(owner, collection)}`
      const addable = new Set(rows.map(({ id }) => Number(id)))
      return routeIds.filter((id) => !addable.has(id))
    }),

    /** All of a collection's routes in their order, the hidden ones included. */
    order: (id: CollectionId) => Effect.map(findOrder(id), (rows) => rows.map(({ route_id }) => route_id))
  }
})

const MemberRow = Schema.Struct({ route_id: RouteIdColumn })
