import { Cache, Context, Duration, Effect, Exit, Layer, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Missing } from "../../schema/DomainErrors.ts"
import type { BoundingBox, GeometryForm } from "../../schema/Geometry.ts"
import type { UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import { Listing } from "../../schema/PublicListing.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { activeUsers } from "../identity/ActiveUsers.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { readableRows } from "../sql/ReadableRows.ts"
import { routeVisibility } from "../visibility/Visibility.ts"
import { boundedPage } from "./RoutePages.ts"
import { RouteRow, toStoredRoute } from "./RouteRows.ts"

const COUNT_KEPT_FOR = Duration.seconds(5)
const MAX_COUNTS_KEPT = 1000

const FULL_TURN = 360

/** A viewport as two boxes: stored boxes may start in the west of it, or run past 180 degrees. */
const boxesOf = ({ east, north, south, west }: BoundingBox): readonly [string, string] => {
  const [from, to] = west <= east ? [west, east] : [west, east + FULL_TURN]
  const box = (shift: number) => `(${to + shift},${north}),(${from + shift},${south})`
  return west <= east ? [box(0), box(FULL_TURN)] : [box(0), box(-FULL_TURN)]
}

const ListingText = Schema.fromJsonString(Listing)

const filtersOf = (listing: Listing) => Effect.orDie(Schema.encodeEffect(ListingText)(listing))

const listingOf = (filters: string) => Effect.orDie(Schema.decodeEffect(ListingText)(filters))

/** Public routes, for anyone. */
export class PublicRoutes extends Context.Service<PublicRoutes, {
  /** `indexable` newest-updated first, `public` newest-published first. Totals are exact, at most 5 seconds old. */
  readonly list: (listing: Listing, page: Page, form: GeometryForm) => Effect.Effect<PageOf<StoredRoute>>
  /** A user's public routes, newest-published first. `Missing` also while the user's deletion is pending. */
  readonly byUser: (owner: UserId, page: Page, form: GeometryForm) => Effect.Effect<PageOf<StoredRoute>, Missing>
}>()("route-planning-service/PublicRoutes") {
  static readonly layer = Layer.effect(
    PublicRoutes,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const visibility = routeVisibility(sql)
      const { requireActive } = yield* activeUsers
      const decodeRows = readableRows("routes", RouteRow)

      // Favourites are private to the owner.
      const asSeen = (row: RouteRow) => toStoredRoute({ ...row, favourite: false }, pseudonyms)

      // Ids first: skipping and sorting work on narrow rows, and only returned routes have their polylines read.
      const page = (
        where: Statement.Fragment,
        order: Statement.Fragment,
        { limit, offset }: Page,
        form: GeometryForm
      ) =>
        boundedPage(
          sql,
          sql`
            SELECT r.id FROM routes r JOIN users u ON u.id = r.user_id
            WHERE ${where} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`,
          order,
          form
        )

      const count = (where: Statement.Fragment) =>
        sql`SELECT count(*)::int AS total FROM routes r JOIN users u ON u.id = r.user_id WHERE ${where}`

      const countOf = (counted: Statement.Fragment) =>
        Effect.map(sql<{ total: number }>`${counted}`, (rows) => rows[0]?.total ?? 0)

      const listOf = Effect.fnUntraced(function*(
        found: ReturnType<typeof page>,
        { limit, offset }: Page,
        counted: ReturnType<typeof countOf>
      ) {
        const rows = yield* found
        const items = (yield* decodeRows(rows)).map(asSeen)
        const pageRows = Number(rows[0]?.page_rows ?? 0)
        const seen = offset + pageRows
        const isEnd = pageRows < limit && (pageRows > 0 || offset === 0)
        if (isEnd) return { items, covered: rows.length, total: seen }
        const total = yield* counted
        return { items, covered: rows.length, total: pageRows > 0 ? Math.max(total, seen) : total }
      })

      const conditionsOf = (listing: Omit<Listing, "bbox">): ReadonlyArray<Statement.Fragment> => [
        visibility.public,
        ...(listing.gate === "indexable" ? [sql`r.is_indexable`, sql`u.email_verified_at IS NOT NULL`] : []),
        ...(listing.activity === undefined ? [] : [sql`r.activity = ${listing.activity}`]),
        ...(listing.placeCity === undefined ? [] : [sql`lower(r.place_city) = lower(${listing.placeCity})`]),
        ...(listing.minDistance === undefined ? [] : [sql`r.distance >= ${listing.minDistance}`]),
        ...(listing.maxDistance === undefined ? [] : [sql`r.distance <= ${listing.maxDistance}`])
      ]

      const isIn = (box: string) => sql`r.bounds && ${box}::box`

      const whereOf = ({ bbox, ...listing }: Listing) =>
        sql.and([...conditionsOf(listing), ...(bbox === undefined ? [] : [sql.or(boxesOf(bbox).map(isIn))])])

      // One box is counted by an index alone; "in one or the other" would look up every route in the table.
      const totalOf = ({ bbox, ...listing }: Listing) => {
        if (bbox === undefined) return countOf(count(whereOf(listing)))
        const [first, second] = boxesOf(bbox)
        const inFirst = count(sql.and([...conditionsOf(listing), isIn(first)]))
        const inSecond = count(sql.and([...conditionsOf(listing), isIn(second), sql`NOT (${isIn(first)})`]))
        return countOf(sql`SELECT sum(total)::int AS total FROM (${inFirst} UNION ALL ${inSecond}) counted`)
      }

      const newestPublished = sql`r.published_at DESC, r.id DESC`
      const newestUpdated = sql`r.updated_at DESC, r.id DESC`

      // Keyed by text: a client could choose many cities with one structural hash. Failures are not kept.
      const counts = yield* Cache.makeWith(
        (filters: string) => Effect.timed(Effect.flatMap(listingOf(filters), totalOf)),
        {
          capacity: MAX_COUNTS_KEPT,
          timeToLive: (exit) => Exit.isSuccess(exit) ? Duration.subtract(COUNT_KEPT_FOR, exit.value[0]) : Duration.zero
        }
      )

      const keptTotalOf = (listing: Listing) =>
        filtersOf(listing).pipe(
          Effect.flatMap((filters) => Cache.get(counts, filters)),
          Effect.map(([, total]) => total)
        )

      return PublicRoutes.of({
        list: Effect.fn("PublicRoutes.list")((listing, wanted, form) => {
          const order = listing.gate === "indexable" ? newestUpdated : newestPublished
          const rows = page(whereOf(listing), order, wanted, form)
          return listOf(rows, wanted, keptTotalOf(listing)).pipe(Effect.orDie)
        }),
        byUser: Effect.fn("PublicRoutes.byUser")(function*(owner, wanted, form) {
          yield* requireActive(owner)
          const where = sql.and([visibility.public, sql`r.user_id = ${owner}`])
          return yield* Effect.orDie(listOf(page(where, newestPublished, wanted, form), wanted, countOf(count(where))))
        })
      })
    })
  )
}
