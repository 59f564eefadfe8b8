import { Effect, Schema, SchemaGetter } from "effect"
import { CollectionId, LinkId, RouteId, ShareToken, SignUpId, TokenId, UserId } from "./Ids.ts"
import { Preferences } from "./Preferences.ts"

/** `bigint` is read as a BigInt; the identity of the column keeps ids inside the safe-integer range. */
const idColumn = <Id extends Schema.Codec<number, number>>(id: Id) =>
  Schema.BigInt.pipe(
    Schema.decodeTo(id, { decode: SchemaGetter.transform(Number), encode: SchemaGetter.transform(BigInt) })
  )

export const UserIdColumn = idColumn(UserId)
export const CollectionIdColumn = idColumn(CollectionId)
export const RouteIdColumn = idColumn(RouteId)
export const SignUpIdColumn = idColumn(SignUpId)
export const TokenIdColumn = idColumn(TokenId)
export const LinkIdColumn = idColumn(LinkId)
export const ShareTokenColumn = ShareToken

export const AuditIdColumn = idColumn(Schema.Int)

export const VersionColumn = idColumn(Schema.Int)

export const CountColumn = idColumn(Schema.Int)

/** `timestamptz` is read as a Date and sent as ISO 8601 UTC with milliseconds. */
export const TimestampColumn = Schema.Date.pipe(
  Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transform((date) => date.toISOString()),
    encode: SchemaGetter.transform((text) => new Date(text))
  })
)

/** Reads a value that does not decode as null, so that its row is still shown. */
export const readable = <S extends Schema.Codec<unknown, unknown>>(column: Schema.NullOr<S>) =>
  column.pipe(Schema.catchDecoding(() => Effect.succeedSome(null)))

export const PreferencesColumn = readable(Schema.NullOr(Preferences))
