import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { Page, PageOf } from "../../schema/Page.ts"

interface Selection<A> {
  readonly columns: Statement.Fragment
  /** Tables and condition. */
  readonly from: Statement.Fragment
  /** The same rows for the total; `from` if absent. */
  readonly counted?: Statement.Fragment
  readonly order: Statement.Fragment
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
  { columns, counted, decode, from, order }: Selection<A>,
  { limit, offset }: Page
) {
  const total = yield* countRows(sql, counted ?? from)
  const rows = yield* sql`SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}`
  const page: PageOf<A> = { total, items: yield* decode(rows) }
  return page
})
