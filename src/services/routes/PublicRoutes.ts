import { Context, Effect, Layer, Option } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { RouteId, UserId } from "../../schema/Ids.ts"
import type { Page } from "../../schema/Page.ts"
import type { Listing, Viewport } from "../../schema/PublicListing.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { Pseudonyms } from "../accounts/Pseudonyms.ts"
import { readableRows } from "../ReadableRows.ts"
import { routeColumns, RouteRow, toStoredRoute } from "./RouteRows.ts"
import type { PageOf } from "./Routes.ts"

/** Totals are counted up to this many: who asks for page 100 of a million is not told the million. */
const MAX_COUNTED = 10_000

const FULL_TURN = 360

/** The boxes that a viewport is, as stored boxes may begin in the west of it or run past its east edge at 180 degrees. */
const boxesOf = ({ east, north, south, west }: Viewport): ReadonlyArray<string> => {
  const [from, to] = west <= east ? [west, east] : [west, east + FULL_TURN]
  const box = (shift: number) => `(${to + shift},${north}),(${from + shift},${south})`
  return west <= east ? [box(0), box(FULL_TURN)] : [box(0), box(-FULL_TURN)]
}

/** What anybody may find. */
export class PublicRoutes extends Context.Service<PublicRoutes, {
  /**
   * Public routes that every filter lets through: `indexable` newest-updated first, `public` newest-published first. The
   * total is exact up to 10,000, and 10,000 for more.
   */
  readonly list: (listing: Listing, page: Page, form: GeometryForm) => Effect.Effect<PageOf<StoredRoute>>
  /** A user's public routes, newest-published first; none for nobody, or for somebody who is about to leave. */
  readonly byUser: (owner: UserId, page: Page, form: GeometryForm) => Effect.Effect<PageOf<StoredRoute>>
  /** Routes by their ids, in the order given: of a list that was checked to be seen by the viewer. */
  readonly inOrder: (
    ids: ReadonlyArray<RouteId>,
    viewer: Option.Option<UserId>,
    form: GeometryForm
  ) => Effect.Effect<ReadonlyArray<StoredRoute>>
}>()("route-planning-service/PublicRoutes") {
  static readonly layer = Layer.effect(
    PublicRoutes,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const decodeRows = readableRows("routes", RouteRow)

      // A favourite is its owner's own business.
      const asSeen = (row: RouteRow) => toStoredRoute({ ...row, favourite: false }, pseudonyms)

      const toPage = Effect.fnUntraced(function*(rows: ReadonlyArray<object>, total: number) {
        const items = yield* decodeRows(rows)
        return { total, items: items.map(asSeen) }
      })

      const publicOnly = sql`r.visibility = 'public' AND r.deleted_at IS NULL AND u.deletion_requested_at IS NULL`

      // Ids first: what is skipped or sorted is narrow, and only what is answered has its line read.
      const page = (
        where: Statement.Fragment,
        order: Statement.Fragment,
        { limit, offset }: Page,
        form: GeometryForm
      ) =>
        sql<object>`
          SELECT ${sql.literal(routeColumns(form))} FROM (
            SELECT r.id FROM routes r JOIN users u ON u.id = r.user_id
            WHERE ${where} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}
          ) found JOIN routes r ON r.id = found.id JOIN users u ON u.id = r.user_id
          ORDER BY ${order}`

      const count = (where: Statement.Fragment) =>
        sql<{ total: number }>`
          SELECT count(*)::int AS total FROM (
            SELECT 1 FROM routes r JOIN users u ON u.id = r.user_id WHERE ${where} LIMIT ${MAX_COUNTED}
          ) counted`.pipe(Effect.map((rows) => rows[0]?.total ?? 0))

      const listOf = Effect.fnUntraced(function*(
        where: Statement.Fragment,
        order: Statement.Fragment,
        wanted: Page,
        form: GeometryForm
      ) {
        const [rows, total] = yield* Effect.all([page(where, order, wanted, form), count(where)], { concurrency: 2 })
        return yield* toPage(rows, total)
      })

      const conditionsOf = (listing: Listing): ReadonlyArray<Statement.Fragment> => [
        publicOnly,
        ...(listing.gate === "indexable" ? [sql`r.is_indexable`, sql`u.email_verified_at IS NOT NULL`] : []),
        ...(listing.bbox === undefined ? [] : [
          sql.or(boxesOf(listing.bbox).map((box) => sql`r.bounds && ${box}::box`))
        ]),
        ...(listing.activity === undefined ? [] : [sql`r.activity = ${listing.activity}`]),
        ...(listing.placeCity === undefined ? [] : [sql`lower(r.place_city) = lower(${listing.placeCity})`]),
        ...(listing.minDistance === undefined ? [] : [sql`r.distance >= ${listing.minDistance}`]),
        ...(listing.maxDistance === undefined ? [] : [sql`r.distance <= ${listing.maxDistance}`])
      ]

      const newestPublished = sql`r.published_at DESC, r.id DESC`
      const newestUpdated = sql`r.updated_at DESC, r.id DESC`

      return PublicRoutes.of({
        list: Effect.fn("PublicRoutes.list")((listing, wanted, form) =>
          listOf(
            sql.and(conditionsOf(listing)),
            listing.gate === "indexable" ? newestUpdated : newestPublished,
            wanted,
            form
          ).pipe(Effect.orDie)
        ),
        byUser: Effect.fn("PublicRoutes.byUser")((owner, wanted, form) =>
          listOf(sql.and([publicOnly, sql`r.user_id = ${owner}`]), newestPublished, wanted, form).pipe(Effect.orDie)
        ),
        inOrder: Effect.fn("PublicRoutes.inOrder")(function*(ids, viewer, form) {
          const rows = yield* sql`
            SELECT ${sql.literal(routeColumns(form))} FROM unnest(${[
            ...ids
          ]}::bigint[]) WITH ORDINALITY AS wanted (id, place)
              JOIN routes r ON r.id = wanted.id AND r.deleted_at IS NULL JOIN users u ON u.id = r.user_id
            ORDER BY wanted.place`
          const items = yield* decodeRows(rows)
          const isOwn = (row: RouteRow) => Option.contains(viewer, row.user_id)
          return items.map((row) => isOwn(row) ? toStoredRoute(row, pseudonyms) : asSeen(row))
        }, Effect.orDie)
      })
    })
  )
}
