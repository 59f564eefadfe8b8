import { Schema, SchemaGetter } from "effect"
import { CollectionId, RouteId, ShareToken, TokenId, UserId } from "./Ids.ts"

/** `bigint` arrives as a BigInt; ids are inside the safe-integer range by their column's identity. */
const idColumn = <Id extends Schema.Codec<number, number>>(id: Id) =>
  Schema.BigInt.pipe(
    Schema.decodeTo(id, { decode: SchemaGetter.transform(Number), encode: SchemaGetter.transform(BigInt) })
  )

export const UserIdColumn = idColumn(UserId)
export const CollectionIdColumn = idColumn(CollectionId)
export const RouteIdColumn = idColumn(RouteId)
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
