import type { SqlClient, Statement } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { MAX_PAGE_BYTES } from "../../schema/Page.ts"
import { routeColumns } from "./RouteRows.ts"

const LINE_BYTES: Record<GeometryForm, string> = {
  full: "coalesce(octet_length(r.geometry), 0)",
  simplified: "coalesce(octet_length(r.simplified), 0)",
  none: "0",
  // JSON doubles each backslash, the only character of a polyline to be escaped.
  polyline6: "2 * coalesce(octet_length(r.polyline6), 0)"
}

/**
 * A page of at most `MAX_PAGE_BYTES`, and at least one route, in order of `page_place`; `page_rows` is its length
 * without the limit. Sizes are read before texts, so that nothing over it is read. `ids` is `f`; `order` sorts `f, r`.
 */
export const boundedPage = (
  sql: SqlClient.SqlClient,
  ids: Statement.Fragment,
  order: Statement.Fragment,
  form: GeometryForm
) =>
  sql<{ readonly page_rows: bigint }>`
    SELECT r.page_rows, r.page_place, ${sql.literal(routeColumns(form))} FROM (
      SELECT r.*, count(*) OVER () AS page_rows, row_number() OVER so_far AS page_place,
        sum(octet_length(r.waypoints) + ${sql.literal(LINE_BYTES[form])}) OVER so_far AS page_bytes
      FROM (${ids}) f JOIN routes r ON r.id = f.id
      WINDOW so_far AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
    ) r JOIN users u ON u.id = r.user_id
    WHERE r.page_place = 1 OR r.page_bytes <= ${MAX_PAGE_BYTES}
    ORDER BY r.page_place`
