import { Cause, Effect, Exit, Schema, SchemaIssue } from "effect"

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
