import { Effect, Schema } from "effect"
import { Preferences } from "../../schema/Preferences.ts"

/** `timestamptz` is read as ISO 8601 UTC with milliseconds, and `bigint` as a number (`layers/database/ColumnTypes.ts`). */
export const TimestampColumn = Schema.String

/** The same as a `Date`, where something is computed from it. */
export const DateColumn = Schema.DateFromString

/** When something was deleted: with a year of four digits, so that the end of its grace period is a date too. */
export const DeletionColumn = DateColumn.check(
  Schema.makeFilter((date) => date.getUTCFullYear() < 10_000 || "Expected an instant before the year 10000")
)

/** Reads a value that does not decode as null, so that its row is still shown. */
const readable = <S extends Schema.Codec<unknown, unknown>>(column: Schema.NullOr<S>) =>
  column.pipe(Schema.catchDecoding(() => Effect.succeedSome(null)))

export const PreferencesColumn = readable(Schema.NullOr(Preferences))
