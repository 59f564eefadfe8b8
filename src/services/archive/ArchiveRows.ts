import { Effect, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { CollectionId, RouteId, ShareToken, UserId } from "../../schema/Ids.ts"
import { CollectionRecord } from "../collections/CollectionRows.ts"
import { routeColumns, RouteRow } from "../routes/RouteRows.ts"
import { findReadable } from "../sql/ReadableRows.ts"
import { columnsOf } from "../sql/Tables.ts"
import { collectionVisibility, routeVisibility } from "../visibility/Visibility.ts"

export const archiveQueries = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const routes = routeVisibility(sql)
  const collections = collectionVisibility(sql)

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
        SELECT ${sql.literal(routeColumns("full"))}, coalesce(r.imported_from, r.share_token) AS origin
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

  return { routesOf, collectionsOf, routePage, collectionPage }
})

const ArchivedRouteRow = Schema.Struct({ ...RouteRow.fields, origin: ShareToken })
export type ArchivedRouteRow = typeof ArchivedRouteRow.Type

const ArchivedColumns = CollectionRecord.select.mapFields(
  Struct.pick(["id", "name", "description", "visibility", "shareToken", "createdAt", "updatedAt"])
)

const ArchivedCollectionRow = Schema.Struct({
  ...ArchivedColumns.fields,
  origin: ShareToken,
  routeIds: Schema.Array(RouteId),
  others: Schema.Array(Schema.Struct({ id: RouteId, shareToken: ShareToken }))
})
export type ArchivedCollectionRow = typeof ArchivedCollectionRow.Type
