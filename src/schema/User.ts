import { Schema } from "effect"
import { type SessionId, type TokenId, UserId } from "./Ids.ts"
import { Metres } from "./Measures.ts"
import { Preferences, PreferencesPatch } from "./Preferences.ts"
import { isCodePointLength, isNormalizedLength, trimmedText, WellFormedString } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import type { Scope } from "./Token.ts"
import { Usage } from "./Usage.ts"

/** The public address of a user's profile. */
export const Handle = Schema.String.check(Schema.isPattern(/^[a-z0-9-]{3,30}$/u)).pipe(Schema.brand("Handle"))
export type Handle = typeof Handle.Type

/** Paths of their own below `/users/`, where otherwise a handle stands. */
export const USER_PATHS = { me: "me", profile: "profile" } as const

const RESERVED_HANDLES: ReadonlySet<string> = new Set(Object.values(USER_PATHS))

export const isReservedHandle = (handle: string): boolean => RESERVED_HANDLES.has(handle)

export const DisplayName = trimmedText(1, 100)

/** Image URL. The service never fetches it. */
const Avatar = Schema.String

export const Role = Schema.Literals(["user", "admin"])
export type Role = typeof Role.Type

/** What others see of a user, embedded in routes and collections. */
export const UserSummary = Schema.Struct({
  id: UserId,
  name: Schema.String,
  handle: Schema.String,
  avatar: Schema.optionalKey(Avatar),
  idHash: Schema.String
}).annotate({ identifier: "UserSummary" })
export type UserSummary = typeof UserSummary.Type

/** What users see of themselves. */
export const User = Schema.Struct({
  id: UserId,
  email: Schema.String,
  name: Schema.String,
  handle: Schema.String,
  avatar: Schema.optionalKey(Avatar),
  isEmailVerified: Schema.Boolean,
  role: Role,
  preferences: Schema.NullOr(Preferences),
  idHash: Schema.String,
  deletionStatus: Schema.Literals(["active", "pending_hard_delete"]),
  deletionRequestedAt: Schema.NullOr(Timestamp),
  hasPassword: Schema.Boolean
}).annotate({ identifier: "User" })
export type User = typeof User.Type

/** `totalDistance` is in metres; both count live routes only. */
export const Statistics = Schema.Struct({ totalRoutes: Schema.Int, totalDistance: Metres })

export const Profile = Schema.Struct({ ...User.fields, statistics: Statistics, usage: Usage }).annotate({
  identifier: "Profile"
})
export type Profile = typeof Profile.Type

// Control characters are spelt out: not every client's expressions have classes of Unicode.
const UNUSUAL = String.raw`\s\x00-\x1f\x7f-\x9f@<>()[\]\\,;:"`

const EMAIL = new RegExp(String.raw`^[^${UNUSUAL}]{1,64}@[^.${UNUSUAL}]+(\.[^.${UNUSUAL}]+)+$`, "u")

/** RFC 5321, 4.5.3.1. */
const MAX_EMAIL = 254

/**
 * The length of an address as mail systems and `emailKey` spell it: its domain in ASCII (IDNA), where one character may
 * become many.
 */
const mappedLength = (email: string): number => {
  const text = email.normalize("NFC").toLowerCase()
  const domain = text.slice(text.lastIndexOf("@") + 1)
  const ascii = URL.parse(`http://${domain}`)?.hostname ?? ""
  return text.length - domain.length + Math.max(domain.length, ascii.length)
}

/** An address as typed, trimmed. One `@`, no quoting, no comment; at most 254 characters, also once it is mapped. */
export const Email = trimmedText(3, MAX_EMAIL, { format: "email-address", pattern: EMAIL.source }).check(
  // A look-alike of `@` or of white space must not become the real one in somebody else's normalisation.
  Schema.makeFilter((email) => EMAIL.test(email) && EMAIL.test(email.normalize("NFKC")), {
    expected: "an email address"
  }, true),
  Schema.makeFilter((email) => mappedLength(email) <= MAX_EMAIL, {
    expected: `an email address of at most ${MAX_EMAIL} characters with its domain in ASCII (IDNA)`
  })
)

/** Code points of a password after NFKC. */
export const PASSWORD_LENGTH = { minimum: 12, maximum: 1024 } as const

/** A new password, counted after NFKC, as it is hashed. Its strength is checked by the `PasswordPolicy` service. */
export const NewPassword = WellFormedString.check(isNormalizedLength(PASSWORD_LENGTH.minimum, PASSWORD_LENGTH.maximum))

/** A password to be verified: whatever `NewPassword` accepts, and shorter ones, which are merely wrong. */
export const PasswordAttempt = WellFormedString.check(isNormalizedLength(1, PASSWORD_LENGTH.maximum))

/** 32 random bytes, base64url: the secret of a mailed link. */
export const MailedToken = WellFormedString.check(isCodePointLength(1, 256))

/** What others see of a user by their handle. `publicRoutes` counts what the public listing has of them. */
export const PublicProfile = Schema.Struct({
  ...UserSummary.fields,
  createdAt: Timestamp,
  publicRoutes: Schema.Int
}).annotate({ identifier: "PublicProfile" })
export type PublicProfile = typeof PublicProfile.Type

const AVATAR = /^[Hh][Tt][Tt][Pp][Ss]:\/\/[^/\\\s]/u

const isAvatar = (text: string) => {
  const url = URL.parse(text)
  return AVATAR.test(text) && url?.protocol === "https:" && url.username === "" && url.password === ""
}

/** An https URL without credentials. The service never fetches it. */
const NewAvatar = trimmedText(1, 2048, { format: "uri", pattern: AVATAR.source }).check(
  Schema.makeFilter(isAvatar, { expected: "an https URL" })
)

/** What users may change of their profile; `null` clears what is optional, preferences are merged member by member. */
export const ProfilePatch = Schema.Struct({
  name: Schema.optionalKey(DisplayName),
  handle: Schema.optionalKey(Handle),
  avatar: Schema.optionalKey(Schema.NullOr(NewAvatar)),
  preferences: Schema.optionalKey(Schema.NullOr(PreferencesPatch))
}).annotate({ identifier: "ProfilePatch" })
export type ProfilePatch = typeof ProfilePatch.Type

/** How far the deletion of an account is: none was asked for, it can be taken back, or its 30 days are over. */
export const DeletionState = Schema.Literals(["none", "pending", "over"])
export type DeletionState = typeof DeletionState.Type

/** A person who makes an authenticated request in a session. */
export interface SessionPrincipal {
  readonly kind: "session"
  readonly userId: UserId
  readonly role: Role
  readonly sessionId: SessionId
  readonly deletion: DeletionState
}

/** A script that makes an authenticated request with a personal access token of its user. */
export interface TokenPrincipal {
  readonly kind: "token"
  readonly userId: UserId
  readonly tokenId: TokenId
  readonly scope: Scope
}

/** Who makes an authenticated request, decided once, before anything else of the request is looked at. */
export type Principal = SessionPrincipal | TokenPrincipal
