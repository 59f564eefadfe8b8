import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { CollectionId, RouteId, ShareToken } from "../../schema/Ids.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { findReadable } from "../db/Lists.ts"
import { replicaReads } from "../db/ReadReplicas.ts"
import { TimestampColumn } from "../db/Tables.ts"
import { routeFilters } from "../routes/RouteLists.ts"
import { asSeenBy } from "../routes/RouteRow.ts"
import { ANONYMOUS, collectionVisibility, routeVisibility } from "../sharing/Visibility.ts"

/** A part covers this many ids, and has no more addresses. The protocol of sitemaps allows 50,000. */
const PART_IDS = 10_000

export const ADDRESSED = ["routes", "collections"] as const
export type Addressed = typeof ADDRESSED[number]

interface Address {
  /** The page's path has this ref: a route's share token, or a collection's id. */
  readonly name: string
  readonly updatedAt: string
}

const Part = Schema.Struct({ after: Schema.Finite, upTo: Schema.Finite })

const Highest = Schema.Struct({ id: Schema.NullOr(Schema.Finite) })

const rangeOf = (part: number) => ({ after: (part - 1) * PART_IDS, upTo: part * PART_IDS })

/** Lists the public routes and collections of all users in ranges of ids, so that the primary key alone reads each. */
export class PublicAddresses extends Context.Service<PublicAddresses, {
  /** Returns the number of parts, some of which may be empty. */
  readonly parts: (of: Addressed) => Effect.Effect<number>
  /** Reads a part, from 1: routes that pass the quality gate, and collections with public routes. */
  readonly part: (of: Addressed, part: number) => Effect.Effect<ReadonlyArray<Address>>
}>()("route-planning-service/PublicAddresses") {
  static readonly layer = Layer.effect(
    PublicAddresses,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { whileAway } = yield* replicaReads
      const { indexable } = routeFilters(sql)
      const routes = routeVisibility(sql)
      const collections = collectionVisibility(sql)

      const highest = SqlSchema.findOne({
        Request: Schema.Literals(ADDRESSED),
        Result: Highest,
        execute: (of) => sql`SELECT max(id)::float8 AS id FROM ${sql.literal(of)}`
      })

      const findRoutes = findReadable({
        table: "routes",
        Request: Part,
        Result: Schema.Struct({ id: RouteId, name: ShareToken, updatedAt: TimestampColumn }),
        execute: ({ after, upTo }) =>
          sql`
            SELECT r.id, r.share_token AS name, r.updated_at AS "updatedAt"
            FROM routes r JOIN users u ON u.id = r.user_id ${asSeenBy(sql, ANONYMOUS)}
            WHERE r.id > ${after} AND r.id <= ${upTo} AND ${routes.public} AND ${indexable}
              AND (s.is_open OR v.is_indexable)
            ORDER BY r.id`
      })

      const findCollections = findReadable({
        table: "collections",
        Request: Part,
        Result: Schema.Struct({ id: CollectionId, updatedAt: TimestampColumn }),
        execute: ({ after, upTo }) =>
          sql`
            SELECT c.id, c.updated_at AS "updatedAt"
            FROM collections c JOIN users u ON u.id = c.user_id
            WHERE c.id > ${after} AND c.id <= ${upTo} AND ${collections.public}
              AND EXISTS (
                SELECT FROM collection_routes m JOIN routes r ON r.id = m.route_id JOIN users u ON u.id = r.user_id
                WHERE m.collection_id = c.id AND ${routes.public}
              )
            ORDER BY c.id`
      })

      return PublicAddresses.of({
        parts: Effect.fnUntraced(
          function*(of) {
            const { id } = yield* whileAway(highest(of))
            return Math.ceil((id ?? 0) / PART_IDS)
          },
          databaseDefects,
          Effect.orDie
        ),

        part: Effect.fnUntraced(function*(of, part) {
          if (of === "routes") return yield* whileAway(findRoutes(rangeOf(part)))
          const found = yield* whileAway(findCollections(rangeOf(part)))
          return found.map(({ id, updatedAt }) => ({ name: String(id), updatedAt }))
        }, databaseDefects)
      })
    })
  )
}
