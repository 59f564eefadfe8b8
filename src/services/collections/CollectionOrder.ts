import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { CollectionId, RouteId } from "../../schema/Ids.ts"

/** A route is added between two others without a new position for them, since pages begin by position. */
const GAP = 65_536

const MAX_POSITION = 2 ** 31 - 1

/** Undefined if there is no room. */
const positionBetween = (before: number | undefined, after: number | undefined): number | undefined => {
  const lower = before ?? (after ?? 0) - 2 * GAP
  const upper = after ?? lower + 2 * GAP
  const middle = Math.floor((lower + upper) / 2)
  return middle > lower && Math.abs(middle) <= MAX_POSITION ? middle : undefined
}

interface Member {
  readonly routeId: RouteId
  readonly position: number
}

/** Writes the order of a collection that the caller has locked. */
export const collectionOrder = Effect.map(SqlClient.SqlClient, (sql) => {
  const write = Effect.fnUntraced(function*(id: CollectionId, routeIds: ReadonlyArray<RouteId>) {
    yield* sql`DELETE FROM collection_routes WHERE collection_id = ${id}`
    yield* sql`
      INSERT INTO collection_routes (collection_id, route_id, position)
      SELECT ${id}, member, place * ${GAP}::int
      FROM unnest(${[...routeIds]}::bigint[]) WITH ORDINALITY AS ids (member, place)`
  })

  const writeMember = (id: CollectionId, { position, routeId }: Member) =>
    sql`
      INSERT INTO collection_routes (collection_id, route_id, position) VALUES (${id}, ${routeId}, ${position})
      ON CONFLICT (collection_id, route_id) DO UPDATE SET position = excluded.position`

  return {
    write,

    /** Adds a route at an index of the others, or moves it there. */
    add: Effect.fnUntraced(function*(
      id: CollectionId,
      others: ReadonlyArray<Member>,
      routeId: RouteId,
      index: number
    ) {
      const position = positionBetween(others[index - 1]?.position, others[index]?.position)
      if (position === undefined) {
        return yield* write(id, others.map((other) => other.routeId).toSpliced(index, 0, routeId))
      }
      yield* writeMember(id, { routeId, position })
    })
  }
})
