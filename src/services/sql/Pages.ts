import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Page, PageOf } from "../../schema/Page.ts"
import { keyset, type ListOrder, type Positioned, positionOf } from "./Keyset.ts"

interface Selection<A> {
  readonly columns: Statement.Fragment
  readonly tables: Statement.Fragment
  readonly where: Statement.Fragment
  /** Tables with the same rows for the total; `tables` if absent. */
  readonly counted?: Statement.Fragment
  readonly order: ListOrder
  readonly decode: (rows: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<A>>
}

const decodeCount = Schema.decodeUnknownEffect(Schema.Tuple([Schema.Struct({ total: Schema.Int })]))

/** How many rows tables and a condition have. */
export const countRows = (
  sql: SqlClient.SqlClient,
  from: Statement.Fragment
): Effect.Effect<number, SqlError.SqlError> =>
  sql`SELECT count(*)::int AS total FROM ${from}`.pipe(
    Effect.flatMap((rows) => Effect.orDie(decodeCount(rows))),
    Effect.map(([{ total }]) => total)
  )

/** A page of rows and the total. They are of one snapshot only in a transaction that has one. */
export const selectPage = Effect.fnUntraced(function*<A>(
  sql: SqlClient.SqlClient,
  { columns, counted, decode, order, tables, where }: Selection<A>,
  page: Page
) {
  const { after, bounds, position } = keyset(sql, order, page)
  const total = yield* countRows(sql, sql`${counted ?? tables} WHERE ${where}`)
  const rows = yield* sql<Positioned>`
    SELECT ${columns}, ${position} AS list_position FROM ${tables} WHERE (${where}) AND ${after} ${bounds}`
  const covered = rows.slice(0, page.limit)
  const last = rows.length > page.limit ? covered.at(-1) : undefined
  const found: PageOf<A> = { total, items: yield* decode(covered), end: last && positionOf(last) }
  return found
})
