import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { ListPosition, type Page } from "../../schema/Page.ts"

/** What a list is sorted by: a column or expression that is never null, then the id in the same direction. */
export interface ListOrder {
  readonly by: string
  readonly type: "bigint" | "float8" | "int" | "real" | "text" | "timestamptz"
  readonly id: string
  readonly direction: "ASC" | "DESC"
}

/** Ids are given in the order of time. */
export const newest = (id: string): ListOrder => ({ by: id, type: "bigint", id, direction: "DESC" })

/** A page begins after the position of a row (keyset), so it costs the same at any depth. */
export const keyset = (sql: SqlClient.SqlClient, { by, direction, id, type }: ListOrder, page: Page) => {
  const { after, limit, offset } = page
  const isAfter = direction === "ASC" ? ">" : "<"
  return {
    /** The position of a row. In JSON no instant loses its microseconds and no number a digit. */
    position: sql.literal(`json_build_array(${by}, ${id})::text`),

    after: after === undefined
      ? sql`true`
      : sql`(${sql.literal(by)}, ${sql.literal(id)}) ${sql.literal(isAfter)} (${String(after[0])}::text::${
        sql.literal(type)
      }, ${after[1]}::bigint)`,

    /** One row more than the page has shows whether the list ends with it. */
    bounds: sql`
      ORDER BY ${sql.literal(`${by} ${direction}, ${id} ${direction}`)} LIMIT ${limit + 1} OFFSET ${offset}`
  } satisfies Record<string, Statement.Fragment>
}

const decodePositioned = Schema.decodeUnknownEffect(
  Schema.Struct({ list_position: Schema.fromJsonString(ListPosition) })
)

/** Of a row with `position` as `list_position`. */
export const positionOf = (row: unknown): Effect.Effect<ListPosition> =>
  decodePositioned(row).pipe(Effect.orDie, Effect.map(({ list_position }) => list_position))
