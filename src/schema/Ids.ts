import { Schema, SchemaGetter, SchemaTransformation } from "effect"

const Id = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))

const id = (of: string) => Id.annotate({ description: `The id of a ${of}` })

export const UserId = id("user").pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

export const RouteId = id("route").pipe(Schema.brand("RouteId"))
export type RouteId = typeof RouteId.Type

export const CollectionId = id("collection").pipe(Schema.brand("CollectionId"))
export type CollectionId = typeof CollectionId.Type

export const TokenId = id("token").pipe(Schema.brand("TokenId"))
export type TokenId = typeof TokenId.Type

export const LinkId = id("link").pipe(Schema.brand("LinkId"))
export type LinkId = typeof LinkId.Type

/** A sign-up whose email address is not verified has this id. */
export const SignUpId = Id.pipe(Schema.brand("SignUpId"))
export type SignUpId = typeof SignUpId.Type

export const SessionId = Schema.String.check(Schema.isUUID()).pipe(Schema.brand("SessionId")).annotate({
  description: "The id of a session"
})
export type SessionId = typeof SessionId.Type

export const SessionIdFromPath = Schema.String.pipe(
  Schema.decodeTo(SessionId, SchemaTransformation.toLowerCase())
)

/** A client chooses this UUID for what it makes. */
export const ClientId = Schema.String.check(Schema.isUUID()).annotate({
  description:
    "A UUID of the client's own, once in the account, for links once for what they open. A repeat of the call with it "
    + "makes nothing more and has the first result: the same status and body, also where the route, collection or link was changed since; the `etag` is that of the first version, so "
    + "that a change that expects it is 409 with `details.current`. With another content it has what is there now. What was "
    + "moved to the trash since is 409, and a link that was deleted is made again"
})

export const ShareToken = Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/u, { expected: "32 hex digits" })).pipe(
  Schema.brand("ShareToken")
)
  .annotate({
    description: "By which anyone opens it while it is public or unlisted: 32 hex digits"
  })
export type ShareToken = typeof ShareToken.Type

export const SHARE_TOKEN = ShareToken.make("5f2d8c1e9b7a4036a1c4e8d2f0b3967d")

const fromPath = <Brand extends Schema.Codec<number, number>>(id: Brand, expected = "an id, a decimal number") =>
  Schema.String.check(Schema.isPattern(/^[1-9][0-9]{0,15}$/u, { expected })).pipe(
    Schema.decodeTo(id, { decode: SchemaGetter.transform(Number), encode: SchemaGetter.String() })
  )

const NO_SHARE_TOKEN = "the id, a decimal number: a share token only reads"

export const RouteIdFromPath = fromPath(RouteId, NO_SHARE_TOKEN)
export const TokenIdFromPath = fromPath(TokenId)
export const LinkIdFromPath = fromPath(LinkId)
export const CollectionIdFromPath = fromPath(CollectionId, NO_SHARE_TOKEN)
export const SignUpIdFromPath = fromPath(SignUpId)
export const UserIdFromPath = fromPath(UserId)

const ShareTokenFromPath = Schema.String.check(
  Schema.isPattern(/^[0-9a-fA-F]{32}$/u, { expected: "a share token, 32 hex digits" })
)
  .pipe(
    Schema.decodeTo(
      ShareToken.annotate({ description: "A share token, or that of a link: 32 hex digits" }),
      SchemaTransformation.toLowerCase()
    )
  )

/** A ref of 32 hex digits (case-insensitive) is a share token, one of fewer decimal digits an id. */
const REF = { description: "An id, a share token or the token of a link: 32 hex digits" }

export const RouteRef = Schema.Union([ShareTokenFromPath, fromPath(RouteId)]).annotate(REF)
export type RouteRef = typeof RouteRef.Type

export const CollectionRef = Schema.Union([ShareTokenFromPath, fromPath(CollectionId)]).annotate(REF)
export type CollectionRef = typeof CollectionRef.Type
