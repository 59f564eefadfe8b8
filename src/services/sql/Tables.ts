import { Schema, String } from "effect"
import { Model } from "effect/schema"
import type { SqlClient, Statement } from "effect/sql"
import { TimestampColumn } from "../../schema/Columns.ts"

/** `timestamptz`: written as a Date, read as ISO 8601. */
export const Instant = Model.Field({ select: TimestampColumn, insert: Schema.Date, update: Schema.Date })

export const NullableInstant = Model.Field({
  select: Schema.NullOr(TimestampColumn),
  insert: Schema.NullOr(Schema.Date),
  update: Schema.NullOr(Schema.Date)
})

/** A column that the database or a later statement fills: an INSERT does not name it. */
export const readOnly = <S extends Schema.Top>(column: S) => Model.Field({ select: column })

/** A column that an INSERT writes and no UPDATE changes. */
export const writtenOnce = <S extends Schema.Top, I extends Schema.Top>(column: S, written: I) =>
  Model.Field({ select: column, insert: written })

/**
 * Selects the fields of a row under their own names, `s.last_seen_at AS "lastSeenAt"`, so that no row is renamed after it
 * was read: to rename 27 columns costs 16 microseconds a row by `Schema.encodeKeys`, and 17 by the client's transforms.
 */
export const columnsOf = (row: { readonly fields: Schema.Struct.Fields }, alias?: string): string =>
  Object.keys(row.fields).map((field) => {
    const column = String.camelToSnake(field)
    return `${alias === undefined ? column : `${alias}.${column}`} AS "${field}"`
  }).join(", ")

/** Fields to change; undefined ones stay as they are. */
export type Changes<A> = { readonly [K in keyof A]?: A[K] | undefined }

interface Writable<I, U> {
  readonly insert: { readonly Type: I; readonly fields: Schema.Struct.Fields }
  readonly update: { readonly Type: U; readonly fields: Schema.Struct.Fields }
}

/** Writes to a table, typed by the columns of its model. */
export const tableOf = <I extends object, U extends object>(name: string, model: Writable<I, U>) => {
  const columns = new Map(
    Object.keys({ ...model.insert.fields, ...model.update.fields }).map((field) => [field, String.camelToSnake(field)])
  )

  const byColumn = (values: object): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(values).flatMap(([field, value]) => {
        const column = columns.get(field)
        return column === undefined || value === undefined ? [] : [[column, value]]
      })
    )

  return {
    /** By the names of the columns, for JSON that PostgreSQL reads as rows of the table. */
    byColumn: (values: Changes<I>) => byColumn(values),
    insert: (sql: SqlClient.SqlClient, values: I): Statement.Statement<unknown> =>
      sql`INSERT INTO ${sql(name)} ${sql.insert(byColumn(values))}`,
    set: (sql: SqlClient.SqlClient, changes: Changes<U>): Statement.Fragment => sql`${sql.update(byColumn(changes))}`
  }
}
