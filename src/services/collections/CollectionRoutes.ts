import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { CollectionRef } from "../../schema/Ids.ts"
import type { Page } from "../../schema/Page.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { boundedPage, extentOf, type PageRow } from "../routes/RoutePages.ts"
import { RouteRow, toStoredRoute } from "../routes/RouteRows.ts"
import { RouteViews } from "../routes/RouteViews.ts"
import type { ListOrder } from "../sql/Keyset.ts"
import { readableRows } from "../sql/ReadableRows.ts"
import { collectionVisibility, idOf, routeVisibility, type Viewer } from "../visibility/Visibility.ts"

const IN_ORDER: ListOrder = { by: "position", type: "int", id: "route_id", direction: "ASC" }

export const collectionRouteQueries = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const pseudonyms = yield* Pseudonyms
  const views = yield* RouteViews
  const { visibleBy } = collectionVisibility(sql)
  const { shownIn } = routeVisibility(sql)
  const decodeRows = readableRows("routes", RouteRow)

  return {
    /** One statement decides and reads, so that no route hidden in between is returned. */
    page: Effect.fnUntraced(function*(ref: CollectionRef, viewer: Viewer, page: Page, form: GeometryForm) {
      const viewerId = idOf(viewer)
      const rows = yield* views.completed(sql<PageRow & { total: number }>`
        WITH opened AS (
          SELECT c.id, c.user_id FROM collections c JOIN users u ON u.id = c.user_id WHERE ${visibleBy(ref, viewerId)}
        ), shown AS (
          SELECT m.route_id, m.position
          FROM opened c JOIN collection_routes m ON m.collection_id = c.id
            JOIN routes r ON r.id = m.route_id JOIN users u ON u.id = r.user_id
          WHERE ${shownIn(ref, viewerId)}
        )
        SELECT (SELECT count(*)::int FROM shown) AS total, p.* FROM opened LEFT JOIN (
          ${boundedPage(sql, { from: sql`shown WHERE true`, order: IN_ORDER, page, form, seenBy: viewerId })}
        ) p ON true
        ORDER BY p.page_place`)
      const [first] = rows
      if (first === undefined) return Option.none()
      const found = rows.filter(({ id }) => id !== null)
      const items = yield* decodeRows(found)
      const isOwn = (row: RouteRow) => Option.contains(viewer, row.userId)
      return Option.some({
        ...extentOf(found),
        total: first.total,
        // Favourites are private to the owner.
        items: items.map((row) => toStoredRoute(isOwn(row) ? row : { ...row, favourite: false }, pseudonyms))
      })
    })
  }
})
