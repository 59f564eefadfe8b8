import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Page, PageOf } from "../../schema/Page.ts"
import { keyset, type ListOrder, positionOf } from "./Keyset.ts"

interface Selection<A> {
  readonly columns: Statement.Fragment
  readonly tables: Statement.Fragment
  readonly where: Statement.Fragment
  /** Tables with the same rows for the total; `tables` if absent. */
  readonly counted?: Statement.Fragment
  /** Where it is counted already. */
  readonly total?: number
  readonly order: ListOrder
  readonly decode: (rows: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<A>>
}

const decodeTotal = Schema.decodeUnknownEffect(Schema.Struct({ total: Schema.Int }))

/** The `total` that every row of a statement has. */
export const totalOf = (rows: ReadonlyArray<unknown>): Effect.Effect<number> =>
  decodeTotal(rows[0]).pipe(Effect.orDie, Effect.map(({ total }) => total))

export const countRows = (
  sql: SqlClient.SqlClient,
  from: Statement.Fragment
): Effect.Effect<number, SqlError.SqlError> => Effect.flatMap(sql`SELECT count(*)::int AS total FROM ${from}`, totalOf)

/** A page of rows and the total. They are of one snapshot only in a transaction that has one. */
export const selectPage = Effect.fnUntraced(function*<A>(
  sql: SqlClient.SqlClient,
  { columns, counted, decode, order, tables, where, ...known }: Selection<A>,
  page: Page
) {
  const { after, bounds, position } = keyset(sql, order, page)
  const total = known.total ?? (yield* countRows(sql, sql`${counted ?? tables} WHERE ${where}`))
  const rows = yield* sql`
    SELECT ${columns}, ${position} AS list_position FROM ${tables} WHERE (${where}) AND ${after} ${bounds}`
  const covered = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? covered.at(-1) : undefined
  const found: PageOf<A> = { total, items: yield* decode(covered), end: last && (yield* positionOf(last)) }
  return found
})
