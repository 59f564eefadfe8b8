import { Schema } from "effect"
import { UserId } from "./Ids.ts"
import { grouped } from "./Limits.ts"
import { Metres } from "./Measures.ts"
import { Preferences, PreferencesPatch } from "./Preferences.ts"
import { isCodePointLength, isNormalizedLength, nameText, trimmedText, WellFormedString } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import { Usage } from "./Usage.ts"

export const Handle = Schema.String.check(Schema.isPattern(/^[a-z0-9-]{3,30}$/u)).pipe(Schema.brand("Handle"))
export type Handle = typeof Handle.Type

export const USER_PATHS = { me: "me", profile: "profile" } as const

const RESERVED_HANDLES: ReadonlySet<string> = new Set(Object.values(USER_PATHS))

export const isReservedHandle = (handle: string): boolean => RESERVED_HANDLES.has(handle)

export const MAX_DISPLAY_NAME = 100
export const DisplayName = nameText(1, MAX_DISPLAY_NAME)

const Avatar = Schema.String

export const Role = Schema.Literals(["user", "admin"])
export type Role = typeof Role.Type

export const UserSummary = Schema.Struct({
  id: UserId,
  name: Schema.String,
  handle: Schema.String,
  avatar: Schema.optionalKey(Avatar),
  idHash: Schema.String
}).annotate({ identifier: "UserSummary" })
export type UserSummary = typeof UserSummary.Type

export const DeletionStatus = Schema.Literals(["active", "pending_hard_delete"])

export const deletionStatusOf = (deletionRequestedAt: string | null): typeof DeletionStatus.Type =>
  deletionRequestedAt === null ? "active" : "pending_hard_delete"

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
  deletionStatus: DeletionStatus,
  deletionRequestedAt: Schema.NullOr(Timestamp),
  hasPassword: Schema.Boolean
}).annotate({ identifier: "User" })
export type User = typeof User.Type

export const Statistics = Schema.Struct({ totalRoutes: Schema.Int, totalDistance: Metres })

export const Profile = Schema.Struct({ ...User.fields, statistics: Statistics, usage: Usage }).annotate({
  identifier: "Profile"
})
export type Profile = typeof Profile.Type

// Control characters are spelt out: not every regular expression engine has Unicode classes.
const UNUSUAL = String.raw`\s\x00-\x1f\x7f-\x9f@<>()[\]\\,;:"`

const EMAIL = new RegExp(String.raw`^[^${UNUSUAL}]{1,64}@[^.${UNUSUAL}]+(\.[^.${UNUSUAL}]+)+$`, "u")

/** RFC 5321, 4.5.3.1. */
const MAX_EMAIL = 254

/** The length with the domain in ASCII (IDNA), as mail systems and `emailKey` have it: a character may become many. */
const mappedLength = (email: string): number => {
  const text = email.normalize("NFC").toLowerCase()
  const domain = text.slice(text.lastIndexOf("@") + 1)
  const ascii = URL.parse(`http://${domain}`)?.hostname ?? ""
  return text.length - domain.length + Math.max(domain.length, ascii.length)
}

export const Email = trimmedText(3, MAX_EMAIL, { format: "email", pattern: EMAIL.source }).check(
  // A look-alike of `@` or of white space must not become a real one when another system normalises.
  Schema.makeFilter((email) => EMAIL.test(email) && EMAIL.test(email.normalize("NFKC")), {
    expected: "an email address"
  }, true),
  Schema.makeFilter((email) => mappedLength(email) <= MAX_EMAIL, {
    expected: `an email address of at most ${MAX_EMAIL} characters with its domain in ASCII (IDNA)`
  })
)

/** Unicode folds these to other characters or to nothing (NFKC_Casefold). */
const FOLDED = /(?![A-Z])\p{Changes_When_NFKC_Casefolded}/u

const isNormalForm = (text: string) => text.normalize("NFKC") === text

/** Other letters have no lower case that all mail servers agree on. */
export const lowerAscii = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/**
 * True where NFKC and case folding leave the part before the `@` as it is, but for A to Z. Another part may become
 * that of another mailbox: U+212A KELVIN SIGN is folded to k.
 */
export const isUnambiguous = (local: string): boolean =>
  !FOLDED.test(local) && isNormalForm(local) && isNormalForm(lowerAscii(local))

export const localPartOf = (email: string): string => email.slice(0, email.lastIndexOf("@"))

export const UNAMBIGUOUS_EMAIL =
  "an email address without characters before the @ that Unicode folds to others: A to Z, "
  + "and others in lower case and normal form NFKC"

/** For an account to be. What is stored already may be ambiguous, and is known by its exact spelling. */
export const NewEmail = Email.check(
  Schema.makeFilter((email) => isUnambiguous(localPartOf(email)), { expected: UNAMBIGUOUS_EMAIL })
)

const PASSWORD_LENGTH = { minimum: 12, maximum: 1024 } as const

export const PASSWORD_RULE = `${PASSWORD_LENGTH.minimum} to ${grouped(PASSWORD_LENGTH.maximum)} characters`

/** The `PasswordPolicy` service checks its strength. */
export const NewPassword = WellFormedString.check(isNormalizedLength(PASSWORD_LENGTH.minimum, PASSWORD_LENGTH.maximum))

export const PasswordAttempt = WellFormedString.check(isNormalizedLength(1, PASSWORD_LENGTH.maximum))

export const MailedToken = WellFormedString.check(isCodePointLength(1, 256))

/** `publicRoutes` counts those in the public listing. */
export const PublicProfile = Schema.Struct({
  ...UserSummary.fields,
  createdAt: Timestamp,
  publicRoutes: Schema.Int
}).annotate({ identifier: "PublicProfile" })
export type PublicProfile = typeof PublicProfile.Type

const AVATAR = /^[Hh][Tt][Tt][Pp][Ss]:\/\/[^/\\\s]/u

export const isAvatar = (text: string) => {
  const url = URL.parse(text)
  return AVATAR.test(text) && url?.protocol === "https:" && url.username === "" && url.password === ""
}

export const MAX_AVATAR = 2048
const NewAvatar = trimmedText(1, MAX_AVATAR, { format: "uri", pattern: AVATAR.source }).check(
  Schema.makeFilter(isAvatar, { expected: "an https URL" })
)

/** `null` clears an optional member; preferences are merged by member. */
export const ProfilePatch = Schema.Struct({
  name: Schema.optionalKey(DisplayName),
  handle: Schema.optionalKey(Handle),
  avatar: Schema.optionalKey(Schema.NullOr(NewAvatar)),
  preferences: Schema.optionalKey(Schema.NullOr(PreferencesPatch))
}).annotate({ identifier: "ProfilePatch" })
export type ProfilePatch = typeof ProfilePatch.Type
