import { Context, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { type OwnRoutesFilter, type RouteSort, TagCount } from "../../schema/RouteSearch.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import type { ListOrder } from "../sql/Keyset.ts"
import { totalOf } from "../sql/Pages.ts"
import { readableRows } from "../sql/ReadableRows.ts"
import { traced } from "../tracing/Traced.ts"
import { routeVisibility } from "../visibility/Visibility.ts"
import { ownScope, routeFilters } from "./RouteFilters.ts"
import { boundedPage, extentOf, type Selection } from "./RoutePages.ts"
import { RouteRow, toStoredRoute } from "./RouteRows.ts"

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

/** An owner's live routes of every visibility. */
export class RouteSearch extends Context.Service<RouteSearch, {
  /** Newest first without a `sort`; page and total are from one snapshot. */
  readonly list: (
    owner: UserId,
    filter: OwnRoutesFilter,
    page: Page,
    form: GeometryForm
  ) => Effect.Effect<PageOf<StoredRoute>>
  /** The tags and how many routes have each, most first, then by name. */
  readonly tags: (owner: UserId) => Effect.Effect<ReadonlyArray<TagCount>>
}>()("route-planning-service/RouteSearch") {
  static readonly layer = Layer.effect(
    RouteSearch,
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
        ...(filter.visibility === undefined ? [] : [visibility.of(filter.visibility)]),
        ...(filter.favourite === undefined ? [] : [sql`r.favourite = ${filter.favourite === "true"}`]),
        ...(filter.placeCountryCode === undefined
          ? []
          : [sql`r.place_country_code = ${filter.placeCountryCode.toUpperCase()}`]),
        ...(filter.updatedSince === undefined ? [] : [sql`r.updated_at >= ${filter.updatedSince}::text::timestamptz`])
      ]

      const matching = (owner: UserId, { q, sort }: OwnRoutesFilter) => {
        if (q === undefined) return sql`routes r`
        const scope = ownScope(owner)
        const rank = sort === "relevance" ? sql`, ts_rank(words, search_query(${scope}, ${q}, '|')) AS rank` : sql``
        return sql`
          (SELECT route_id${rank} FROM route_words WHERE ${
          filters.words(scope, q)
        }) m JOIN routes r ON r.id = m.route_id`
      }

      const listOf = (counted: Statement.Fragment, paged: Statement.Fragment) =>
        sql`
          SELECT c.total, p.* FROM (SELECT count(*)::int AS total FROM ${counted}) c LEFT JOIN (${paged}) p ON true
          ORDER BY p.page_place`

      // An index has all that is counted, and the page in its order.
      const listAll = (selection: Selection) => listOf(selection.from, boundedPage(sql, selection))

      // What matches is looked for once, to be counted and sorted. Planned for its words each time: a prepared plan for any
      // words compares those of each route of the account.
      const listMatching = ({ from, order, ...selection }: Selection) => {
        const matched = {
          ...selection,
          from: sql`matched WHERE true`,
          order: { ...order, by: "matched.sort", id: "matched.id" }
        }
        return sql`
          WITH matched AS MATERIALIZED (
            SELECT ${sql.literal(order.id)} AS id, ${sql.literal(order.by)} AS sort FROM ${from}
          ) ${listOf(sql`matched`, boundedPage(sql, matched))}`.unprepared
      }

      return RouteSearch.of({
        list: traced("RouteSearch.list")(function*(owner, filter, page, form) {
          const conditions = conditionsOf(filter)
          const where = sql.and([visibility.own(owner), ...conditions])
          const selection = {
            from: sql`${matching(owner, filter)} WHERE ${where}`,
            order: ORDERS[filter.sort ?? "-createdAt"],
            page,
            form,
            seenBy: "owner" as const
          }
          const isWhole = conditions.length === 0 && filter.q === undefined
          const rows = yield* isWhole ? listAll(selection) : listMatching(selection)
          const found = rows.filter(({ id }) => id !== null)
          const items = (yield* decodeRows(found)).map((row) => toStoredRoute(row, pseudonyms))
          return { ...yield* extentOf(found), items, total: yield* totalOf(rows) }
        }, Effect.orDie),

        // By bytes, so that a position in the list compares alike in any language.
        tags: traced("RouteSearch.tags")(
          function*(owner) {
            return yield* decodeTags(
              yield* sql`
                SELECT tag, count(*)::int AS count FROM routes r, unnest(r.tags) AS tag
                WHERE ${visibility.own(owner)} GROUP BY tag ORDER BY count DESC, tag COLLATE "C"`
            )
          },
          Effect.orDie
        )
      })
    })
  )
}
