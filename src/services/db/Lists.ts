import { Cause, Effect, Exit, Schema, SchemaIssue } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { ListPosition, type Page, type PageOf } from "../../schema/Page.ts"

/** A list is ordered by a column or expression that is never null, then by the id in the same direction. */
export interface ListOrder {
  readonly by: string
  readonly type: "bigint" | "float8" | "int" | "real" | "text" | "timestamptz"
  readonly id: string
  readonly direction: "ASC" | "DESC"
}

/** Ids grow with time, so the newest row has the highest one. */
export const newest = (id: string): ListOrder => ({ by: id, type: "bigint", id, direction: "DESC" })

/** A page begins after the position of a row (keyset), so it costs the same at any depth. */
export const keyset = (sql: SqlClient.SqlClient, { by, direction, id, type }: ListOrder, page: Page) => {
  const { after, limit, offset } = page
  const isAfter = direction === "ASC" ? ">" : "<"
  return {
    /** The position of a row is JSON, in which no instant loses its microseconds and no number a digit. */
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

export const positionOf = (row: unknown): Effect.Effect<ListPosition> =>
  decodePositioned(row).pipe(Effect.orDie, Effect.map(({ list_position }) => list_position))

interface Selection<A> {
  readonly columns: Statement.Fragment
  readonly tables: Statement.Fragment
  readonly where: Statement.Fragment
  /** The total counts these tables, which have the same rows, else `tables`. */
  readonly counted?: Statement.Fragment
  readonly total?: number
  readonly order: ListOrder
  readonly decode: (rows: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<A>>
}

const decodeTotal = Schema.decodeUnknownEffect(Schema.Struct({ total: Schema.Int }))

export const totalOf = (rows: ReadonlyArray<unknown>): Effect.Effect<number> =>
  decodeTotal(rows[0]).pipe(Effect.orDie, Effect.map(({ total }) => total))

export const countRows = (
  sql: SqlClient.SqlClient,
  from: Statement.Fragment
): Effect.Effect<number, SqlError.SqlError> => Effect.flatMap(sql`SELECT count(*)::int AS total FROM ${from}`, totalOf)

/** Reads a page of rows and the total. Both come from one snapshot only in a transaction that has one. */
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

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const columnsOf = (cause: Cause.Cause<Schema.SchemaError>) =>
  cause.reasons.filter(Cause.isFailReason).flatMap(({ error }) =>
    format(error.issue).issues.map(({ path }) => String(path?.[0] ?? ""))
  ).join(", ")

const idOf = (row: unknown) => typeof row === "object" && row !== null && "id" in row ? String(row.id) : "unknown"

/** Skips rows that do not decode, so that one does not fail a list. Logs ids and columns, never the values of a row. */
export const readableRows = <S extends Schema.ConstraintDecoder<unknown>>(table: string, row: S) => {
  const decodeAll = Schema.decodeUnknownEffect(Schema.Array(row))
  const decode = Schema.decodeUnknownEffect(row)

  const readable = Effect.fnUntraced(function*(row: unknown) {
    const exit = yield* Effect.exit(decode(row))
    if (Exit.isSuccess(exit)) return [exit.value]
    yield* Effect.logError("unreadable row left out").pipe(
      Effect.annotateLogs({ table, id: idOf(row), columns: columnsOf(exit.cause) })
    )
    return []
  })

  return (rows: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<S["Type"]>> =>
    Effect.catchCause(decodeAll(rows), () => Effect.map(Effect.forEach(rows, readable), (found) => found.flat()))
}

export const findReadable = <Req extends Schema.Constraint, Res extends Schema.ConstraintDecoder<unknown>, E, R>(
  { execute, Request, Result, table }: {
    readonly table: string
    readonly Request: Req
    readonly Result: Res
    readonly execute: (request: Req["Encoded"]) => Effect.Effect<ReadonlyArray<unknown>, E, R>
  }
) => {
  const encode = Schema.encodeEffect(Request)
  const decode = readableRows(table, Result)
  return (request: Req["Type"]) => encode(request).pipe(Effect.flatMap(execute), Effect.flatMap(decode))
}
