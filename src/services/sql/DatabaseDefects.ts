import { Cause, Effect, Schema } from "effect"
import { SqlError } from "effect/sql"

export type DatabaseError = SqlError.SqlError | Schema.SchemaError | Cause.NoSuchElementError

/** Turns failed statements, and rows that their schema refuses or that are not there, into defects. */
export const databaseDefects = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catchIf(
    effect,
    (error): error is Extract<E, DatabaseError> =>
      SqlError.isSqlError(error) || Schema.isSchemaError(error) || Cause.isNoSuchElementError(error),
    Effect.die
  )
