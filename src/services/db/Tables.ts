import { Effect, Function, Predicate, Schema, String } from "effect"
import { Model } from "effect/schema"
import { type SqlClient, Statement } from "effect/sql"
import { createHash } from "node:crypto"
import { Preferences } from "../../schema/Preferences.ts"

/** `timestamptz` is read as ISO 8601 UTC with milliseconds, `bigint` as a number (`layers/database/ColumnTypes.ts`). */
export const TimestampColumn = Schema.String

/** The driver takes the type of an array from its elements, and those of numbers differ by their size. */
export const bigints = (numbers: Iterable<number>): ReadonlyArray<bigint> => Array.from(numbers, BigInt)

export const DateColumn = Schema.DateFromString

/** The year of a deletion has four digits, so that the end of its grace period is a date too. */
export const DeletionColumn = DateColumn.check(
  Schema.makeFilter((date) => date.getUTCFullYear() < 10_000 || "Expected an instant before the year 10000")
)

/** Reads a value that does not decode as null, so that its row is still shown. */
const readable = <S extends Schema.Codec<unknown, unknown>>(column: Schema.NullOr<S>) =>
  column.pipe(Schema.catchDecoding(() => Effect.succeedSome(null)))

export const PreferencesColumn = readable(Schema.NullOr(Preferences))

export const Instant = Model.Field({ select: TimestampColumn, insert: Schema.Date, update: Schema.Date })

export const NullableInstant = Model.Field({
  select: Schema.NullOr(TimestampColumn),
  insert: Schema.NullOr(Schema.Date),
  update: Schema.NullOr(Schema.Date)
})

/** The database or a later statement fills the column: an INSERT does not name it. */
export const readOnly = <S extends Schema.Top>(column: S) => Model.Field({ select: column })

export const writtenOnce = <S extends Schema.Top>(column: S) => Model.Field({ select: column, insert: column })

export const InstantOnce = Model.Field({ select: TimestampColumn, insert: Schema.Date })

type Row = { readonly fields: Schema.Struct.Fields }

const selectionsOf = Function.memoize((_row: Row) => new Map<string, string>())

const select = (row: Row, alias: string) =>
  Object.keys(row.fields).map((field) => {
    const column = String.camelToSnake(field)
    const source = alias === "" ? column : `${alias}.${column}`
    return column === field ? source : `${source} AS "${field}"`
  }).join(", ")

/** Selects the fields of a row under their own names, `s.last_seen_at AS "lastSeenAt"`, so that no row is renamed. */
export const columnsOf = (row: Row, alias = ""): string => {
  const selections = selectionsOf(row)
  const columns = selections.get(alias) ?? select(row, alias)
  selections.set(alias, columns)
  return columns
}

export type Changes<A> = { readonly [K in keyof A]?: A[K] | undefined }

interface Writable<I, U> {
  readonly insert: { readonly Type: I; readonly fields: Schema.Struct.Fields }
  readonly update: { readonly Type: U; readonly fields: Schema.Struct.Fields }
}

const IS_DISTINCT_FROM = Statement.literal(" IS DISTINCT FROM ")

export const tableOf = <I extends Readonly<Record<string, unknown>>, U extends object>(
  name: string,
  model: Writable<I, U>
) => {
  const columns = new Map(
    Object.keys({ ...model.insert.fields, ...model.update.fields }).map((field) => [field, String.camelToSnake(field)])
  )

  const byColumn = (values: object): Record<string, unknown> => {
    const result: Record<string, unknown> = {}
    for (const [field, value] of Object.entries(values)) {
      const column = columns.get(field)
      if (column !== undefined && value !== undefined) result[column] = value
    }
    return result
  }

  return {
    /** Encodes rows under the names of the columns, as JSON that PostgreSQL reads as rows of the table. */
    byColumn: (values: Changes<I>) => byColumn(values),
    insert: (sql: SqlClient.SqlClient, values: I): Statement.Statement<unknown> =>
      sql`INSERT INTO ${sql(name)} ${sql.insert(byColumn(values))}`,
    set: (sql: SqlClient.SqlClient, changes: Changes<U>): Statement.Fragment => sql`${sql.update(byColumn(changes))}`,
    differs: (changes: Changes<U>): Statement.Fragment =>
      Statement.or([
        "false",
        ...Object.entries(byColumn(changes)).map(([column, value]) =>
          Statement.fragment([Statement.identifier(column), IS_DISTINCT_FROM, Statement.parameter(value)])
        )
      ])
  }
}

/** The first of two calls with the same `clientId` stores. */
export const UNLESS_MADE = "ON CONFLICT (user_id, client_id) WHERE client_id IS NOT NULL DO NOTHING"

export const FIRST_VERSION = 1

/** A column or member that a later version adds is null in what was sent before, so that the text stays the same. */
const canonicalText = (content: object) =>
  JSON.stringify(
    Object.entries(content)
      .filter(([, value]) => Predicate.isNotNullish(value))
      .toSorted(([one], [other]) => one < other ? -1 : 1)
  )

/** Returns columns by which a repeated call gets the first result, and one with other content what is there now. */
export const clientColumns = (clientId: string | null | undefined, content: object) =>
  clientId === undefined || clientId === null
    ? { clientId: null, clientDigest: null }
    : { clientId, clientDigest: createHash("sha256").update(canonicalText(content)).digest("hex") }
