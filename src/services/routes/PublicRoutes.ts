import { Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type SqlConnection, type SqlError, type Statement } from "effect/sql"
import { RouteId, UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { Listing } from "../../schema/RouteSearch.ts"
import { Lanes, sharedTotals } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { type ListOrder, readableRows, totalOf } from "../db/Lists.ts"
import { replicaReads } from "../db/ReadReplicas.ts"
import { bigints } from "../db/Tables.ts"
import type { Missing, Overloaded } from "../DomainErrors.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { makeRequireActive } from "../identity/Users.ts"
import { ANONYMOUS, routeVisibility } from "../sharing/Visibility.ts"
import {
  boxesOf,
  extentOf,
  given,
  mergedPage,
  PUBLIC_SCOPE,
  routeFilters,
  unboundedCount,
  unionAll
} from "./RouteLists.ts"
import { forOthers, IS_CURRENT, type RouteForm, RouteRow } from "./RouteRow.ts"
import { RouteViews } from "./RouteViews.ts"

const TOTAL_KEPT_FOR = Duration.seconds(5)

const ListingText = Schema.fromJsonString(Listing)

/** A list has alternative conditions, one of which each route meets. */
type Parts = ReadonlyArray<Statement.Fragment>

const textOf = (listing: Listing) => Effect.orDie(Schema.encodeEffect(ListingText)(listing))

const listingOf = (text: string) => Effect.orDie(Schema.decodeEffect(ListingText)(text))

const latest = (by: string): ListOrder => ({ by, type: "timestamptz", id: "r.id", direction: "DESC" })
const NEWEST_PUBLISHED = latest("r.published_at")
const NEWEST_UPDATED = latest("r.updated_at")

/** The page of a viewport with at most so many routes is read by the index of boxes. */
const FEW = 2000

/** Sorts by what no index has, so that PostgreSQL reads the routes of a viewport by the index of boxes. */
const unindexed = (order: ListOrder): ListOrder => ({ ...order, by: `${order.by} + interval '0'` })

type Searched = Pick<Listing, "q" | "tag">

/** Returns texts whose words each route has. Tags have no index of their own, so a rare one is found by its words. */
const textsOf = ({ q, tag }: Searched) => [q, tag?.join(" ")].filter((text) => text !== undefined)

/** A search is planned for its words: a prepared plan for any words compares those of every route. */
const planned = <A>(statement: Statement.Statement<A>, searched: Searched) =>
  textsOf(searched).length === 0 ? statement : statement.unprepared

const countOf = (counted: Statement.Statement<SqlConnection.Row>, searched: Searched = {}) =>
  Effect.flatMap(planned(counted, searched), totalOf)

const ListedRows = Schema.Array(Schema.Struct({
  id: RouteId,
  version: Schema.Int,
  zonesRevision: Schema.NullOr(Schema.Int),
  isDue: Schema.Boolean
}))

const decodeListed = Schema.decodeUnknownOption(ListedRows)

/** Owners without zones have no revision. */
const NO_ZONES = -1

/** Asks the primary whether each row of a replica is public, of the same version, and under the same zones. */
const makeAreCurrent = Effect.map(SqlClient.SqlClient, (sql) => {
  const visibility = routeVisibility(sql)
  return Effect.fnUntraced(function*(rows: ReadonlyArray<SqlConnection.Row>) {
    const listed = Option.getOrElse(decodeListed(rows), () => [])
    if (listed.length < rows.length) return false
    if (rows.length === 0) return true
    const current = yield* sql`
      SELECT count(*)::int AS total
      FROM unnest(
          ${bigints(listed.map(({ id }) => id))}::bigint[],
          ${bigints(listed.map(({ version }) => version))}::bigint[],
          ${bigints(listed.map(({ zonesRevision }) => zonesRevision ?? NO_ZONES))}::bigint[]
        ) AS listed(id, version, revision)
        JOIN routes r ON r.id = listed.id AND r.version = listed.version
        JOIN users u ON u.id = r.user_id AND coalesce(u.zones_revision, ${NO_ZONES}) = listed.revision
      WHERE ${visibility.public}`
    return (yield* totalOf(current)) === rows.length && !listed.some(({ isDue }) => isDue)
  })
})

/** Fails with `Overloaded` if too many lists are read, or if one is not counted within a second. */
export class PublicRoutes extends Context.Service<PublicRoutes, {
  /** Sorts `indexable` by update, `public` by publication, newest first. Totals are exact, at most 5 seconds old. */
  readonly list: (listing: Listing, page: Page, form: RouteForm) => Effect.Effect<PageOf<StoredRoute>, Overloaded>
  /** Lists a user's public routes, newest-published first. `Missing` also says that their deletion is pending. */
  readonly byUser: (
    owner: UserId,
    page: Page,
    form: RouteForm
  ) => Effect.Effect<PageOf<StoredRoute>, Missing | Overloaded>
}>()("route-planning-service/PublicRoutes") {
  static readonly layer = Layer.effect(
    PublicRoutes,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const views = yield* RouteViews
      const { publicLists } = yield* Lanes
      const visibility = routeVisibility(sql)
      const requireActive = yield* makeRequireActive
      const decodeRows = readableRows("routes", RouteRow)
      const replica = yield* replicaReads
      const areCurrent = yield* makeAreCurrent

      const asSeen = (row: RouteRow) => forOthers(row, pseudonyms)

      const filters = routeFilters(sql)

      const tables = sql`routes r JOIN users u ON u.id = r.user_id`

      const found = (parts: Parts, order: ListOrder, page: Page, form: RouteForm) =>
        mergedPage(sql, {
          from: parts.map((where) => sql`${tables} WHERE ${where}`),
          order,
          page,
          form,
          seenBy: ANONYMOUS
        })

      const count = (where: Statement.Fragment) => sql`SELECT count(*)::int AS total FROM ${tables} WHERE ${where}`

      const listOf = Effect.fnUntraced(function*(
        found: Effect.Effect<ReadonlyArray<SqlConnection.Row>, SqlError.SqlError>,
        { after, limit, offset }: Page,
        counted: Effect.Effect<number, Overloaded | SqlError.SqlError>
      ) {
        const rows = yield* publicLists(views.completed(replica.page(found, areCurrent)))
        const page = { ...yield* extentOf(rows), items: (yield* decodeRows(rows)).map(asSeen) }
        const fetched = yield* unboundedCount(rows)
        const seen = offset + Math.min(fetched, limit)
        const isAll = after === undefined && fetched <= limit && (fetched > 0 || offset === 0)
        if (isAll) return { ...page, total: seen }
        const total = yield* counted
        return { ...page, total: fetched > 0 ? Math.max(total, seen) : total }
      })

      const conditionsOf = (listing: Listing): ReadonlyArray<Statement.Fragment> => [
        visibility.public,
        ...(listing.gate === "indexable" ? [filters.indexable] : []),
        ...textsOf(listing).map((text) =>
          sql`r.id IN (SELECT route_id FROM route_words WHERE ${filters.words(PUBLIC_SCOPE, text)})`
        ),
        ...filters.columns(listing)
      ]

      /** Returns the conditions on `route_views v` by members that a zone may hide. */
      const hidden = ({ bbox, gate, placeCity, q, ...listing }: Listing): ReadonlyArray<Statement.Fragment> => [
        ...(gate === "indexable" ? [sql`v.is_indexable`] : []),
        ...given(q, (q) => sql`v.words @@ search_query('', ${q}, '&')`),
        ...given(placeCity, (city) => sql`lower(v.place_city) = lower(${city})`),
        ...given(bbox, (bbox) => sql.or(boxesOf(bbox).map((box) => sql`v.bounds && ${box}::box`))),
        ...filters.distance("v", listing)
      ]

      // Routes whose owner has zones are looked for by their views, which a route without a current one lacks, and
      // others by their own columns, which an index has. One condition for both would have no index.
      const hasNoZones = sql`u.zones_revision IS NULL`
      const inViews = (listing: Listing, isPage: boolean, box: Parts) => {
        const view = sql`FROM route_views v WHERE v.route_id = r.id AND ${sql.literal(IS_CURRENT)}`
        const isShown = sql`CASE
          WHEN v.is_whole THEN ${sql.and(filters.distance("r", listing))} ELSE ${sql.and(hidden(listing))} END`
        // EXISTS is planned as a join with all views: right for a total, and for a filter that few routes match. A page
        // without such a filter is full before that.
        const isSelective = filters.distance("v", listing).length > 0
        return sql.and([
          ...conditionsOf(listing),
          ...box,
          sql`u.zones_revision IS NOT NULL`,
          isPage && !isSelective ? sql`(SELECT ${isShown} ${view})` : sql`EXISTS (SELECT ${view} AND ${isShown})`
        ])
      }

      const partsOf = (listing: Listing, isPage: boolean, box: Parts): Parts => {
        const conditions = [...conditionsOf(listing), ...box, ...filters.distance("r", listing)]
        return hidden(listing).length === 0
          ? [sql.and(conditions)]
          : [sql.and([...conditions, hasNoZones]), inViews(listing, isPage, box)]
      }

      // One box is counted by an index alone; "in one or the other" would look up every route in the table.
      const countedParts = (listing: Listing): Parts => {
        if (listing.bbox === undefined) return partsOf(listing, false, [])
        const isIn = boxesOf(listing.bbox).map(filters.isIn)
        const conditions = [...conditionsOf(listing), ...filters.distance("r", listing), hasNoZones]
        return [
          ...isIn.map((box, index) =>
            sql.and([...conditions, box, ...isIn.slice(0, index).map((before) => sql`NOT (${before})`)])
          ),
          inViews(listing, false, filters.box(listing.bbox))
        ]
      }

      const totalOf = (listing: Listing) => {
        const counts = countedParts(listing).map(count)
        return countOf(sql`SELECT sum(total)::int AS total FROM (${unionAll(counts)}) counted`, listing)
      }

      // The key is a text: a client could choose many cities with one structural hash.
      const keptTotal = yield* sharedTotals(
        (text: string) => replica.total(Effect.flatMap(listingOf(text), totalOf)),
        TOTAL_KEPT_FOR
      )

      const publicOf = (owner: UserId) => sql.and([visibility.public, sql`r.user_id = ${owner}`])

      const totalOfUser = yield* sharedTotals(
        (owner: string) => replica.totalWhileAway(countOf(count(publicOf(UserId.make(Number(owner)))))),
        Duration.zero
      )

      return PublicRoutes.of({
        // PostgreSQL has no statistics of boxes: the total tells which index is right for a page.
        list: Effect.fnUntraced(function*(listing, wanted, form) {
          const { bbox, gate } = listing
          const counted = Effect.flatMap(textOf(listing), keptTotal)
          const order = gate === "indexable" ? NEWEST_UPDATED : NEWEST_PUBLISHED
          const areFew = bbox !== undefined && (yield* counted) <= FEW
          const parts = partsOf(listing, true, areFew ? filters.box(bbox) : filters.unindexedBox(bbox))
          return yield* listOf(
            planned(found(parts, areFew ? unindexed(order) : order, wanted, form), listing),
            wanted,
            counted
          )
        }, databaseDefects),
        byUser: Effect.fnUntraced(function*(owner, wanted, form) {
          yield* replica.whileAway(requireActive(owner))
          return yield* listOf(
            found([publicOf(owner)], NEWEST_PUBLISHED, wanted, form),
            wanted,
            totalOfUser(String(owner))
          )
        }, databaseDefects)
      })
    })
  )
}
