import { Effect, Schema, SchemaGetter } from "effect"
import { CollectionId, RouteId, ShareToken, SignUpId, TokenId, UserId } from "./Ids.ts"
import { Preferences } from "./Preferences.ts"

/** `bigint` arrives as a BigInt; ids are inside the safe-integer range by their column's identity. */
const idColumn = <Id extends Schema.Codec<number, number>>(id: Id) =>
  Schema.BigInt.pipe(
    Schema.decodeTo(id, { decode: SchemaGetter.transform(Number), encode: SchemaGetter.transform(BigInt) })
  )

export const UserIdColumn = idColumn(UserId)
export const CollectionIdColumn = idColumn(CollectionId)
export const RouteIdColumn = idColumn(RouteId)
export const SignUpIdColumn = idColumn(SignUpId)
export const TokenIdColumn = idColumn(TokenId)
export const ShareTokenColumn = ShareToken

export const AuditIdColumn = idColumn(Schema.Int)

/** How often a row was changed. */
export const VersionColumn = idColumn(Schema.Int)

/** `timestamptz` arrives as a Date and travels as ISO 8601 UTC with milliseconds. */
export const TimestampColumn = Schema.Date.pipe(
  Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transform((date) => date.toISOString()),
    encode: SchemaGetter.transform((text) => new Date(text))
  })
)

/** A column that may be null and is read as null where its text is not what it should be: its row is shown without it. */
export const readable = <S extends Schema.Codec<unknown, unknown>>(column: Schema.NullOr<S>) =>
  column.pipe(Schema.catchDecoding(() => Effect.succeedSome(null)))

export const PreferencesColumn = readable(Schema.NullOr(Preferences))
