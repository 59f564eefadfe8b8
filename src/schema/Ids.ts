import { Schema, SchemaGetter, SchemaTransformation } from "effect"

/** Ids are positive and inside the safe-integer range, whatever the column could hold. */
const Id = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))

export const UserId = Id.pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

export const RouteId = Id.pipe(Schema.brand("RouteId"))
export type RouteId = typeof RouteId.Type

export const CollectionId = Id.pipe(Schema.brand("CollectionId"))
export type CollectionId = typeof CollectionId.Type

export const TokenId = Id.pipe(Schema.brand("TokenId"))
export type TokenId = typeof TokenId.Type

/** A sign-up whose address is not proven. No client sees it. */
export const SignUpId = Id.pipe(Schema.brand("SignUpId"))
export type SignUpId = typeof SignUpId.Type

export const SessionId = Schema.String.check(Schema.isUUID()).pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** A session's id in a path, of any case. What is no UUID names nothing. */
export const SessionIdFromPath = Schema.String.pipe(
  Schema.decodeTo(SessionId, SchemaTransformation.toLowerCase())
)

/** The unguessable handle of a shared resource: 128 random bits in lower-case hex. */
export const ShareToken = Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/u)).pipe(Schema.brand("ShareToken"))
export type ShareToken = typeof ShareToken.Type

const DecimalId = Schema.String.check(Schema.isPattern(/^[1-9][0-9]{0,15}$/u))

/** An id in a path: plain decimal digits. Whatever else stands there names nothing, so it is answered with 404. */
const fromPath = <Brand extends Schema.Codec<number, number>>(id: Brand) =>
  DecimalId.pipe(Schema.decodeTo(id, { decode: SchemaGetter.transform(Number), encode: SchemaGetter.String() }))

export const RouteIdFromPath = fromPath(RouteId)
export const TokenIdFromPath = fromPath(TokenId)
export const CollectionIdFromPath = fromPath(CollectionId)
export const UserIdFromPath = fromPath(UserId)

const ShareTokenFromPath = Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{32}$/u)).pipe(
  Schema.decodeTo(
    ShareToken.annotate({ description: "A share token: 32 hex digits" }),
    SchemaTransformation.toLowerCase()
  )
)

/** How a route is named in a path: exactly 32 hex digits (of any case) are a share token, fewer decimal digits an id. */
export const RouteRef = Schema.Union([ShareTokenFromPath, RouteIdFromPath])
export type RouteRef = typeof RouteRef.Type

/** The same for a collection. */
export const CollectionRef = Schema.Union([ShareTokenFromPath, CollectionIdFromPath])
export type CollectionRef = typeof CollectionRef.Type
