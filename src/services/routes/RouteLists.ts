import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, Statement } from "effect/sql"
import type { BoundingBox, GeometryForm } from "../../schema/Geometry.ts"
import type { UserId } from "../../schema/Ids.ts"
import { MAX_PAGE_BYTES, type Page, type PageOf } from "../../schema/Page.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { type Listing, type OwnRoutesFilter, type RouteSort, TagCount } from "../../schema/RouteSearch.ts"
import { selectTotalRoutes } from "../admission/Quotas.ts"
import { keyset, type ListOrder, positionOf, readableRows, totalOf } from "../db/Lists.ts"
import { FULL_TURN } from "../geometry/Geodesy.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { routeVisibility } from "../sharing/Visibility.ts"
import {
  asSeenBy,
  OWN,
  ROUTE_COLUMNS,
  type RouteForm,
  RouteRow,
  SEEN,
  SEEN_COLUMNS,
  type Source,
  toStoredRoute
} from "./RouteRow.ts"

/** Returns boxes for a viewport: stored boxes start at -180 degrees, never at 180, also in the west of it, or run past 180. */
export const boxesOf = ({ east, north, south, west }: BoundingBox): ReadonlyArray<string> => {
  const [from, to] = west <= east ? [west, east] : [west, east + FULL_TURN]
  const box = (shift: number) => `(${to + shift},${north}),(${from + shift},${south})`
  if (west > east) return [box(0), box(-FULL_TURN)]
  return east === FULL_TURN / 2 ? [box(0), box(FULL_TURN), box(-FULL_TURN)] : [box(0), box(FULL_TURN)]
}

/** A scope is before each word of a route in `route_words`: its owner's, and another for anyone while it is public. */
const ownScope = (owner: number): string => `${owner}/`
export const PUBLIC_SCOPE = "/"

/** A parameter that is absent is no condition. */
export const given = <A>(
  parameter: A | undefined,
  condition: (value: A) => Statement.Fragment
): ReadonlyArray<Statement.Fragment> => parameter === undefined ? [] : [condition(parameter)]

export const routeFilters = (sql: SqlClient.SqlClient) => {
  const isIn = (box: string) => sql`r.bounds && ${box}::box`

  return {
    isIn,

    indexable: sql`r.is_indexable`,

    columns: (
      { activity, placeCity, tag }: Pick<Listing, "activity" | "placeCity" | "tag">
    ): ReadonlyArray<Statement.Fragment> => [
      ...given(tag, (tag) => sql`r.tags @> ${[...tag]}::text[]`),
      ...given(activity, (activity) => sql`r.activity = ${activity}`),
      ...given(placeCity, (city) => sql`lower(r.place_city) = lower(${city})`)
    ],

    /** Compares the distance of `routes r`, or of their views `v`. */
    distance: (
      alias: "r" | "v",
      { maxDistance, minDistance }: Pick<Listing, "maxDistance" | "minDistance">
    ): ReadonlyArray<Statement.Fragment> => {
      const distance = sql.literal(`${alias}.distance`)
      return [
        ...given(minDistance, (least) => sql`${distance} >= ${least}`),
        ...given(maxDistance, (most) => sql`${distance} <= ${most}`)
      ]
    },

    box: (bbox: BoundingBox | undefined) => given(bbox, (bbox) => sql.or(boxesOf(bbox).map(isIn))),

    /** Compares the boxes of routes, but does not find routes by the index of boxes. */
    unindexedBox: (bbox: BoundingBox | undefined) =>
      given(bbox, (bbox) => sql`(${sql.or(boxesOf(bbox).map(isIn))}) IS TRUE`),

    /**
     * Selects rows of `route_words` in a scope that have all words of a query, or words that begin with these. The
     * triggers `words_on_insert` (`add_route_words`) and `words_on_update` (`change_route_words`) keep them by
     * `route_lexemes`, and `search_query` makes a query by the same rule, `search_words` (`db/schema/words.sql`).
     */
    words: (scope: string, q: string) => sql`words @@ search_query(${scope}, ${q}, '&')`
  }
}

const bytesOf = (form: RouteForm, source: Source): string => {
  if (form === "summary") return "0"
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

/** The viewer is the owner of all routes, or the id of somebody else. */
type SeenBy = { readonly owner: number } | number

interface Shown {
  readonly form: RouteForm
  readonly seenBy: SeenBy
  readonly also?: string
}

interface Ordered {
  readonly order: ListOrder
  readonly page: Page
}

interface Selection extends Shown, Ordered {
  readonly from: Statement.Fragment
}

interface MergedSelection extends Shown, Ordered {
  readonly from: ReadonlyArray<Statement.Fragment>
}

interface Bounded extends Shown {
  readonly ids: Statement.Fragment
  readonly order: Statement.Fragment
  readonly position: Statement.Fragment
  readonly limit: number
}

/**
 * Sizes are read before texts, so that nothing beyond the page is read. The sizes are those of the texts that the
 * viewer sees: others could infer hidden ones from the end of a page.
 */
const bounded = (
  sql: SqlClient.SqlClient,
  { also, form, ids, limit, order, position, seenBy }: Bounded
) => {
  const isOwn = typeof seenBy !== "number"
  const seen = isOwn ? sql`` : sql`JOIN users u ON u.id = r.user_id ${asSeenBy(sql, seenBy)}`
  return sql`
    SELECT r.page_rows, r.page_place, r.list_position, ${sql.literal((isOwn ? ROUTE_COLUMNS : SEEN_COLUMNS)[form])} ${
    sql.literal(also === undefined ? "" : `, ${also}`)
  } FROM (
      SELECT r.*, count(*) OVER () AS page_rows, row_number() OVER so_far AS page_place, ${position} AS list_position,
        sum(${sql.literal(bytesOf(form, isOwn ? OWN : SEEN))}) OVER so_far AS page_bytes
      FROM (${ids}) f JOIN routes r ON r.id = f.id ${seen}
      WINDOW so_far AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
    ) r ${isOwn ? sql`JOIN users u ON u.id = ${seenBy.owner}` : seen}
    WHERE r.page_place = 1 OR (r.page_bytes <= ${MAX_PAGE_BYTES} AND r.page_place <= ${limit})`
}

export const unionAll = Statement.join(" UNION ALL ", false)

const idsFrom = (sql: SqlClient.SqlClient, from: Statement.Fragment, { order, page }: Ordered) => {
  const { after, bounds } = keyset(sql, order, page)
  const columns = sql.literal(`${order.id} AS id, ${order.by} AS sort`)
  return sql`SELECT ${columns} FROM ${from} AND ${after} ${bounds}`
}

const idsFromAll = (sql: SqlClient.SqlClient, { from, order, page }: MergedSelection) => {
  const first = { ...page, limit: page.offset + page.limit, offset: 0 }
  const all = unionAll(from.map((from) => sql`(${idsFrom(sql, from, { order, page: first })})`))
  const { bounds } = keyset(sql, { ...order, by: "sort", id: "id" }, page)
  return sql`SELECT id, sort FROM (${all}) merged ${bounds}`
}

/**
 * Selects at most `MAX_PAGE_BYTES`, and at least one route. `inOrder`, or a statement around it, sorts by `page_place`.
 * Ids come first, to sort narrow rows.
 */
export const boundedPage = (sql: SqlClient.SqlClient, selection: Selection) =>
  pageOf(sql, idsFrom(sql, selection.from, selection), selection)

/** Reads a page of several lists, each of which is read in its order by an index of its own. */
export const mergedPage = (sql: SqlClient.SqlClient, selection: MergedSelection) =>
  inOrder(sql, pageOf(sql, idsFromAll(sql, selection), selection))

export const inOrder = (sql: SqlClient.SqlClient, page: Statement.Fragment) => sql`${page} ORDER BY page_place`

const pageOf = (sql: SqlClient.SqlClient, ids: Statement.Fragment, { order, page, ...shown }: Shown & Ordered) => {
  const direction = sql.literal(order.direction)
  return bounded(sql, {
    ...shown,
    ids,
    order: sql`f.sort ${direction}, f.id ${direction}`,
    position: sql`json_build_array(f.sort, f.id)::text`,
    limit: page.limit
  })
}

/** Reads the owner's routes `ids` up to the bytes of a page, in an order of `f, r`. */
export const boundedRoutes = (
  sql: SqlClient.SqlClient,
  owner: UserId,
  ids: Statement.Fragment,
  order: Statement.Fragment,
  form: RouteForm
) =>
  inOrder(
    sql,
    bounded(sql, { ids, order, position: sql`NULL`, limit: Number.MAX_SAFE_INTEGER, form, seenBy: { owner } })
  )

const decodeCounted = Schema.decodeUnknownEffect(Schema.Struct({ page_rows: Schema.Int }))

/** Counts the rows that a page would have without its limit of bytes, and one more if the list goes on. */
export const unboundedCount = ([row]: ReadonlyArray<unknown>): Effect.Effect<number> =>
  row === undefined
    ? Effect.succeed(0)
    : decodeCounted(row).pipe(Effect.orDie, Effect.map(({ page_rows }) => page_rows))

export const extentOf = Effect.fnUntraced(function*(rows: ReadonlyArray<unknown>) {
  const isWhole = (yield* unboundedCount(rows)) <= rows.length
  const extent: Pick<PageOf<unknown>, "covered" | "end"> = {
    covered: rows.length,
    end: isWhole ? undefined : yield* positionOf(rows.at(-1))
  }
  return extent
})

const by = (by: string, type: ListOrder["type"], direction: ListOrder["direction"]): ListOrder => ({
  by,
  type,
  id: "r.id",
  direction
})

/** Routes without a distance are last, in either direction. */
const ORDERS: Readonly<Record<RouteSort, ListOrder>> = {
  "-createdAt": by("r.created_at", "timestamptz", "DESC"),
  createdAt: by("r.created_at", "timestamptz", "ASC"),
  "-updatedAt": by("r.updated_at", "timestamptz", "DESC"),
  name: by("r.name COLLATE name_order", "text", "ASC"),
  "-distance": by("coalesce(r.distance, -1)", "float8", "DESC"),
  distance: by("coalesce(r.distance, 'Infinity')", "float8", "ASC"),
  relevance: by("m.rank", "real", "DESC")
}

/** Lists an owner's live routes of every visibility. */
export class OwnRoutes extends Context.Service<OwnRoutes, {
  /** Lists the newest first without a `sort`; page and total are from one snapshot. */
  readonly list: (
    owner: UserId,
    filter: OwnRoutesFilter,
    page: Page,
    form: RouteForm
  ) => Effect.Effect<PageOf<StoredRoute>>
  /** Lists the tags and how many routes have each, most first, then by name. */
  readonly tags: (owner: UserId) => Effect.Effect<ReadonlyArray<TagCount>>
}>()("route-planning-service/OwnRoutes") {
  static readonly layer = Layer.effect(
    OwnRoutes,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const visibility = routeVisibility(sql)
      const filters = routeFilters(sql)
      const decodeRows = readableRows("routes", RouteRow)
      const decodeTags = readableRows("routes", TagCount)

      const conditionsOf = (filter: OwnRoutesFilter): ReadonlyArray<Statement.Fragment> => [
        ...filters.columns(filter),
        ...filters.distance("r", filter),
        ...filters.box(filter.bbox),
        ...given(filter.visibility, visibility.of),
        ...given(filter.favourite, (favourite) => sql`r.favourite = ${favourite === "true"}`),
        ...given(filter.placeCountryCode, (code) => sql`r.place_country_code = ${code.toUpperCase()}`),
        ...given(filter.updatedSince, (since) => sql`r.updated_at >= ${since}::text::timestamptz`),
        ...given(filter.recordedAfter, (from) => sql`r.recorded_at >= ${from}::text::timestamptz`),
        ...given(filter.recordedBefore, (to) => sql`r.recorded_at < ${to}::text::timestamptz`)
      ]

      // All words of an owner begin with their scope, so that the index finds few rows, whatever the words are. The words
      // are in a subquery, so that PostgreSQL keeps the plan: to plan for them took five times as long as the search.
      const matching = (owner: UserId, { q, sort }: OwnRoutesFilter) => {
        if (q === undefined) return sql`routes r`
        const query = (operator: "&" | "|") => sql`(SELECT search_query(${ownScope(owner)}, ${q}, ${operator}))`
        const rank = sort === "relevance" ? sql`, ts_rank(words, ${query("|")}) AS rank` : sql``
        return sql`(
          WITH found AS MATERIALIZED (SELECT route_id${rank} FROM route_words WHERE words @@ ${query("&")})
          SELECT * FROM found
        ) m JOIN routes r ON r.id = m.route_id`
      }

      const listOf = (total: Statement.Fragment, paged: Statement.Fragment) =>
        sql`SELECT c.total, p.* FROM (${total}) c LEFT JOIN (${paged}) p ON true ORDER BY p.page_place`

      // The counters have the total: to count takes longer, the more routes an account has.
      const listAll = (owner: UserId, selection: Selection) =>
        listOf(selectTotalRoutes(sql, owner), boundedPage(sql, selection))

      const listMatching = ({ from, order, ...selection }: Selection) => {
        const matched = {
          ...selection,
          from: sql`matched WHERE true`,
          order: { ...order, by: "matched.sort", id: "matched.id" }
        }
        return sql`
          WITH matched AS MATERIALIZED (
            SELECT ${sql.literal(order.id)} AS id, ${sql.literal(order.by)} AS sort FROM ${from}
          ) ${listOf(sql`SELECT count(*)::int AS total FROM matched`, boundedPage(sql, matched))}`
      }

      return OwnRoutes.of({
        list: Effect.fnUntraced(function*(owner, filter, page, form) {
          const conditions = conditionsOf(filter)
          const where = sql.and([visibility.own(owner), ...conditions])
          const selection = {
            from: sql`${matching(owner, filter)} WHERE ${where}`,
            order: ORDERS[filter.sort ?? "-createdAt"],
            page,
            form,
            seenBy: { owner }
          }
          const isWhole = conditions.length === 0 && filter.q === undefined
          const rows = yield* isWhole ? listAll(owner, selection) : listMatching(selection)
          const found = rows.filter(({ id }) => id !== null)
          const items = (yield* decodeRows(found)).map((row) => toStoredRoute(row, pseudonyms))
          return { ...yield* extentOf(found), items, total: yield* totalOf(rows) }
        }, Effect.orDie),

        // Tags are sorted by bytes, so that a position in the list compares alike in any language.
        tags: (owner) =>
          Effect.flatMap(
            sql`
              SELECT tag, count(*)::int AS count FROM routes r, unnest(r.tags) AS tag
              WHERE ${visibility.own(owner)} GROUP BY tag ORDER BY count DESC, tag COLLATE "C"`,
            decodeTags
          ).pipe(Effect.orDie)
      })
    })
  )
}
