import { DateTime, Effect, Option, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { type CollectionRef, UserId } from "../../schema/Ids.ts"
import type { Page } from "../../schema/Page.ts"
import type { StoredCollectionRoute } from "../../schema/Route.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { LinkUses } from "../links/LinkUses.ts"
import { boundedPage, extentOf } from "../routes/RoutePages.ts"
import { RouteRow, toStoredRoute } from "../routes/RouteRows.ts"
import { RouteViews } from "../routes/RouteViews.ts"
import type { ListOrder } from "../sql/Keyset.ts"
import { readableRows } from "../sql/ReadableRows.ts"
import {
  collectionVisibility,
  firstOpened,
  idOf,
  OpenedFields,
  type Opening,
  routeVisibility,
  type Viewer
} from "../visibility/Visibility.ts"

const IN_ORDER: ListOrder = { by: "position", type: "int", id: "route_id", direction: "ASC" }

const decodeOpened = Schema.decodeUnknownEffect(
  Schema.Struct({ ...OpenedFields, collectionOwner: UserId, total: Schema.Int })
)

export const collectionRouteQueries = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const pseudonyms = yield* Pseudonyms
  const links = yield* LinkUses
  const views = yield* RouteViews
  const { selectOpened } = collectionVisibility(sql)
  const { shownIn } = routeVisibility(sql)
  const decodeRows = readableRows("routes", RouteRow)

  return {
    /** One statement decides and reads, so that no route hidden in between is returned. */
    page: Effect.fnUntraced(function*(ref: CollectionRef, viewer: Viewer, page: Page, form: GeometryForm) {
      const viewerId = idOf(viewer)
      const now = yield* DateTime.nowAsDate
      const select = (opening: Opening) =>
        sql`
        WITH opened AS (
          ${selectOpened(sql`c.id, c.user_id`, opening, viewerId)}
        ), shown AS (
          SELECT m.route_id, m.position
          FROM opened c JOIN collection_routes m ON m.collection_id = c.id
            JOIN routes r ON r.id = m.route_id JOIN users u ON u.id = r.user_id
          WHERE ${shownIn(ref, viewerId)}
        )
        SELECT (SELECT count(*)::int FROM shown) AS total, opened.user_id AS "collectionOwner", "linkId", "allowDownload",
          p.*
        FROM opened LEFT JOIN (
          ${boundedPage(sql, { from: sql`shown WHERE true`, order: IN_ORDER, page, form, seenBy: viewerId })}
        ) p ON true
        ORDER BY p.page_place`
      const rows = yield* firstOpened(ref, now, (opening) => views.completed(select(opening)))
      const [first] = rows
      if (first === undefined) return Option.none()
      const found = rows.filter(({ id }) => id !== null)
      const items = yield* decodeRows(found)
      const opened = yield* decodeOpened(first)
      if (opened.collectionOwner !== viewerId) yield* links.follow(ref, opened)
      const shown = (row: RouteRow): StoredCollectionRoute => {
        const route = toStoredRoute(row, pseudonyms)
        if (row.userId === viewerId) return route
        // The token of an unlisted route would outlive the link.
        const hasHiddenToken = opened.linkId !== null && row.visibility === "unlisted"
        return { ...hasHiddenToken ? Struct.omit(route, ["shareToken"]) : route, favourite: false }
      }
      return Option.some({
        ...yield* extentOf(found),
        total: opened.total,
        items: items.map(shown)
      })
    })
  }
})
