import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { CollectionRef } from "../../schema/Ids.ts"
import type { Page } from "../../schema/Page.ts"
import { Pseudonyms } from "../accounts/Pseudonyms.ts"
import { readableRows } from "../ReadableRows.ts"
import { collectionAccess, idOf, type Viewer } from "./CollectionAccess.ts"
import { routeColumns, RouteRow, toStoredRoute } from "./RouteRows.ts"

/** What reads the routes of a collection. */
export const collectionRouteQueries = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const pseudonyms = yield* Pseudonyms
  const { isOpened, isShown } = collectionAccess(sql)
  const decodeRows = readableRows("routes", RouteRow)

  return {
    /**
     * The routes of a collection that are shown to a viewer, in its order; none without such a collection. One statement
     * decides and reads, so that no route is shown that was hidden between the two.
     */
    page: Effect.fnUntraced(function*(ref: CollectionRef, viewer: Viewer, { limit, offset }: Page, form: GeometryForm) {
      const viewerId = idOf(viewer)
      const rows = yield* sql<{ total: number; id: bigint | null }>`
        WITH opened AS (
          SELECT c.id, c.user_id FROM collections c JOIN users u ON u.id = c.user_id WHERE ${isOpened(ref, viewerId)}
        ), shown AS (
          SELECT m.route_id, m.position
          FROM opened c JOIN collection_routes m ON m.collection_id = c.id
            JOIN routes r ON r.id = m.route_id JOIN users o ON o.id = r.user_id
          WHERE ${isShown(ref, viewerId)}
        )
        SELECT (SELECT count(*)::int FROM shown) AS total, p.* FROM opened LEFT JOIN (
          SELECT s.position, ${sql.literal(routeColumns(form))} FROM (
            SELECT route_id, position FROM shown ORDER BY position, route_id LIMIT ${limit} OFFSET ${offset}
          ) s JOIN routes r ON r.id = s.route_id JOIN users u ON u.id = r.user_id
        ) p ON true
        ORDER BY p.position, p.id`
      const [first] = rows
      if (first === undefined) return Option.none()
      const items = yield* decodeRows(rows.filter(({ id }) => id !== null))
      const isOwn = (row: RouteRow) => Option.contains(viewer, row.user_id)
      return Option.some({
        total: first.total,
        // A favourite is its owner's own business.
        items: items.map((row) => toStoredRoute(isOwn(row) ? row : { ...row, favourite: false }, pseudonyms))
      })
    })
  }
})
