import { Effect, Schema } from "effect"
import { type SqlClient, Statement } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { MAX_PAGE_BYTES, type Page, type PageOf } from "../../schema/Page.ts"
import { keyset, type ListOrder, positionOf } from "../sql/Keyset.ts"
import { asSeenBy, OWN, routeColumns, SEEN, seenColumns, type Source } from "./RouteRows.ts"

const bytesOf = (form: GeometryForm, source: Source): string => {
  const bytes = (column: string) => `coalesce(octet_length(${source(column)}), 0)`
  const LINE_BYTES: Record<GeometryForm, string> = {
    full: `${bytes("geometry")} + ${bytes("cues")}`,
    simplified: bytes("simplified"),
    none: "0",
    // JSON doubles each backslash, the only character of a polyline to be escaped.
    polyline6: `2 * ${bytes("polyline6")} + ${bytes("cues")}`
  }
  return `${bytes("waypoints")} + ${LINE_BYTES[form]}`
}

/** The owner, or the id of another viewer. */
type SeenBy = "owner" | number

export interface Selection {
  /** Tables and condition. */
  readonly from: Statement.Fragment
  readonly order: ListOrder
  readonly page: Page
  readonly form: GeometryForm
  readonly seenBy: SeenBy
  /** More columns of `r`. */
  readonly also?: string
}

type MergedSelection = Omit<Selection, "from"> & { readonly from: ReadonlyArray<Selection["from"]> }

interface Bounded {
  /** As `f`. */
  readonly ids: Statement.Fragment
  readonly order: Statement.Fragment
  /** As `list_position`. */
  readonly position: Statement.Fragment
  readonly limit: number
  readonly form: GeometryForm
  readonly seenBy: SeenBy
  readonly also?: string | undefined
}

/**
 * Sizes are read before texts, so that nothing over the page is read. They are of what the viewer sees: by the end of the
 * page others could weigh the rest.
 */
const bounded = (
  sql: SqlClient.SqlClient,
  { also, form, ids, limit, order, position, seenBy }: Bounded
) => {
  const users = sql`JOIN users u ON u.id = r.user_id`
  const seen = seenBy === "owner" ? sql`` : sql`${users} ${asSeenBy(sql, seenBy)}`
  return sql`
    SELECT r.page_rows, r.page_place, r.list_position, ${
    sql.literal(seenBy === "owner" ? routeColumns(form) : seenColumns(form))
  } ${sql.literal(also === undefined ? "" : `, ${also}`)} FROM (
      SELECT r.*, count(*) OVER () AS page_rows, row_number() OVER so_far AS page_place, ${position} AS list_position,
        sum(${sql.literal(bytesOf(form, seenBy === "owner" ? OWN : SEEN))}) OVER so_far AS page_bytes
      FROM (${ids}) f JOIN routes r ON r.id = f.id ${seen}
      WINDOW so_far AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
    ) r ${seenBy === "owner" ? users : seen}
    WHERE r.page_place = 1 OR (r.page_bytes <= ${MAX_PAGE_BYTES} AND r.page_place <= ${limit})
    ORDER BY r.page_place`
}

export const unionAll = Statement.join(" UNION ALL ", false)

const idsFrom = (sql: SqlClient.SqlClient, { from, order, page }: Pick<Selection, "from" | "order" | "page">) => {
  const { after, bounds } = keyset(sql, order, page)
  return sql`SELECT ${sql.literal(order.id)} AS id, ${
    sql.literal(order.by)
  } AS sort FROM ${from} AND ${after} ${bounds}`
}

const idsFromAll = (
  sql: SqlClient.SqlClient,
  { from, order, page }: Pick<MergedSelection, "from" | "order" | "page">
) => {
  const first = { ...page, limit: page.offset + page.limit, offset: 0 }
  const all = unionAll(from.map((from) => sql`(${idsFrom(sql, { from, order, page: first })})`))
  const { bounds } = keyset(sql, { ...order, by: "sort", id: "id" }, page)
  return sql`SELECT id, sort FROM (${all}) merged ${bounds}`
}

/** At most `MAX_PAGE_BYTES`, and at least one route, in order of `page_place`. Ids come first, to sort narrow rows. */
export const boundedPage = (sql: SqlClient.SqlClient, selection: Selection) =>
  pageOf(sql, idsFrom(sql, selection), selection)

/** The same of routes that are in one of several lists, each of which is read in its order, by an index of its own. */
export const mergedPage = (sql: SqlClient.SqlClient, selection: MergedSelection) =>
  pageOf(sql, idsFromAll(sql, selection), selection)

const pageOf = (
  sql: SqlClient.SqlClient,
  ids: Statement.Fragment,
  { also, form, order, page, seenBy }: Omit<Selection, "from">
) => {
  const direction = sql.literal(order.direction)
  return bounded(sql, {
    ids,
    order: sql`f.sort ${direction}, f.id ${direction}`,
    position: sql`json_build_array(f.sort, f.id)::text`,
    limit: page.limit,
    form,
    seenBy,
    also
  })
}

/** As many of the owner's routes `ids` as a page may have bytes, in an order of `f, r`. */
export const boundedRoutes = (
  sql: SqlClient.SqlClient,
  ids: Statement.Fragment,
  order: Statement.Fragment,
  form: GeometryForm
) =>
  bounded(sql, {
    ids,
    order,
    position: sql`NULL`,
    limit: Number.MAX_SAFE_INTEGER,
    form,
    seenBy: "owner"
  })

const decodeCounted = Schema.decodeUnknownEffect(Schema.Struct({ page_rows: Schema.Int }))

/** The number of rows that a page would have without its limit of bytes, and one more if the list goes on. */
export const unboundedCount = ([row]: ReadonlyArray<unknown>): Effect.Effect<number> =>
  row === undefined
    ? Effect.succeed(0)
    : decodeCounted(row).pipe(Effect.orDie, Effect.map(({ page_rows }) => page_rows))

/** How much of its list a page covers, and where it ends. */
export const extentOf = Effect.fnUntraced(function*(rows: ReadonlyArray<unknown>) {
  const isWhole = (yield* unboundedCount(rows)) <= rows.length
  const extent: Pick<PageOf<unknown>, "covered" | "end"> = {
    covered: rows.length,
    end: isWhole ? undefined : yield* positionOf(rows.at(-1))
  }
  return extent
})
