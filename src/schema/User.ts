import { Schema } from "effect"
import { UserId } from "./Ids.ts"
import { grouped } from "./Limits.ts"
import { Count, CreatedAt, Metres, Timestamp } from "./Measures.ts"
import { named } from "./Named.ts"
import { PREFERENCES, Preferences, PreferencesPatch } from "./Preferences.ts"
import { isCodePointLength, isNormalizedLength, nameText, parsedUrl, trimmedText, WellFormedString } from "./Text.ts"

export const QUOTAS = ["routes", "storedBytes", "collections"] as const
export type Quota = typeof QUOTAS[number]

const used = (description: string) =>
  Schema.Struct({
    used: Count.annotate({ description: "How many there are" }),
    limit: Count.annotate({ description: "How many there may be" })
  }).annotate({ description })

const USAGE = {
  routes: { used: 2, limit: 10_000 },
  storedBytes: { used: 81_920, limit: 1_073_741_824 },
  collections: { used: 1, limit: 1000 }
}

/** Counts routes in the trash until they are erased. */
export const Usage = Schema.Struct({
  routes: used("Routes, including those in the trash"),
  storedBytes: used(
    "Bytes of the routes' geometry in every stored form, of their waypoints and descriptions, and of the responses kept "
      + "for `Idempotency-Key`"
  ),
  collections: used("Collections, without those in the trash")
}).annotate(named("Usage", "What the account stores and may store.", USAGE))
export type Usage = typeof Usage.Type

const HANDLE = "The public address of the profile"

export const Handle = Schema.String.check(
  Schema.isPattern(/^[a-z0-9-]{3,30}$/u, { expected: "3 to 30 characters of a-z, 0-9 and \"-\"" })
).pipe(Schema.brand("Handle")).annotate(
  {
    description: HANDLE
  }
)
export type Handle = typeof Handle.Type

export const USER_PATHS = { me: "me", profile: "profile" } as const

const RESERVED_HANDLES: ReadonlySet<string> = new Set(Object.values(USER_PATHS))

export const isReservedHandle = (handle: string): boolean => RESERVED_HANDLES.has(handle)

export const MAX_DISPLAY_NAME = 100
export const DisplayName = nameText(1, MAX_DISPLAY_NAME)

const Avatar = Schema.String.annotate({ description: "The https URL of an image, which the service never fetches" })

export const Role = Schema.Literals(["user", "admin"]).annotate({ description: "What the account may do" })
export type Role = typeof Role.Type

const IdHash = Schema.String.annotate({ description: "A pseudonym that is the same in all responses" })

export const UserName = Schema.String.annotate({ description: "The name of the user" })

export const UserEmail = Schema.String.annotate({ description: "The email address of the user" })

export const USER_SUMMARY = {
  id: UserId.make(7),
  name: "Ada Rider",
  handle: Handle.make("ada-rider"),
  idHash: "0f6c1b9d4e2a87350f6c1b9d4e2a8735"
}

export const UserSummary = Schema.Struct({
  id: UserId,
  name: UserName,
  handle: Schema.String.annotate({ description: HANDLE }),
  avatar: Schema.optionalKey(Avatar),
  idHash: IdHash
}).annotate(named("UserSummary", "What others see of a user.", USER_SUMMARY))
export type UserSummary = typeof UserSummary.Type

export const DeletionStatus = Schema.Literals(["active", "pending_hard_delete"]).annotate({
  description: "Whether the account is pending deletion"
})

export const deletionStatusOf = (deletionRequestedAt: string | null): typeof DeletionStatus.Type =>
  deletionRequestedAt === null ? "active" : "pending_hard_delete"

export const DeletionRequestedAt = Timestamp.annotate({ description: "When the account's deletion was requested" })

/** The owner and administrators see these members of an account. */
export const ACCOUNT_FACTS = {
  isEmailVerified: Schema.Boolean.annotate({ description: "Whether the address is verified" }),
  hasPassword: Schema.Boolean.annotate({ description: "Whether the account has a password" })
}

const SETTINGS = "The settings of the user"

export const USER = {
  ...USER_SUMMARY,
  email: "ada@example.com",
  isEmailVerified: true,
  role: "user",
  preferences: PREFERENCES,
  deletionStatus: "active",
  deletionRequestedAt: null,
  hasPassword: true
} as const

export const User = Schema.Struct({
  id: UserId,
  email: UserEmail,
  name: UserName,
  handle: Schema.String.annotate({ description: HANDLE }),
  avatar: Schema.optionalKey(Avatar),
  isEmailVerified: ACCOUNT_FACTS.isEmailVerified,
  role: Role,
  preferences: Schema.NullOr(Preferences).annotate({ description: SETTINGS }),
  idHash: IdHash,
  deletionStatus: DeletionStatus,
  deletionRequestedAt: Schema.NullOr(DeletionRequestedAt),
  hasPassword: ACCOUNT_FACTS.hasPassword
}).annotate(named("User", "What users see of themselves.", USER))
export type User = typeof User.Type

export const Statistics = Schema.Struct({
  totalRoutes: Schema.Int.annotate({ description: "How many live routes there are" }),
  totalDistance: Metres
}).annotate({ description: "Figures of the live routes" })

export const STATISTICS = { totalRoutes: 1, totalDistance: 1177.4 }

export const Profile = Schema.Struct({ ...User.fields, statistics: Statistics, usage: Usage }).annotate(
  named("Profile", "The caller's account, what it has and what it may have.", {
    ...USER,
    statistics: STATISTICS,
    usage: USAGE
  })
)
export type Profile = typeof Profile.Type

// Control characters are spelt out: not every regular expression engine has Unicode classes.
const UNUSUAL = String.raw`\s\x00-\x1f\x7f-\x9f@<>()[\]\\,;:"`

const EMAIL = new RegExp(String.raw`^[^${UNUSUAL}]{1,64}@[^.${UNUSUAL}]+(\.[^.${UNUSUAL}]+)+$`, "u")

/** See RFC 5321, 4.5.3.1. */
const MAX_EMAIL = 254

/** Counts the length with the domain in ASCII (IDNA), as `emailKey` has it: a character may become many. */
const mappedLength = (email: string): number => {
  const text = email.normalize("NFC").toLowerCase()
  const domain = text.slice(text.lastIndexOf("@") + 1)
  const ascii = parsedUrl(`http://${domain}`)?.hostname ?? ""
  return text.length - domain.length + Math.max(domain.length, ascii.length)
}

export const Email = trimmedText(3, MAX_EMAIL, { format: "idn-email", pattern: EMAIL.source }).check(
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

/** Returns true if NFKC and case folding change only A to Z: U+212A KELVIN SIGN becomes k, another mailbox. */
export const isUnambiguous = (local: string): boolean =>
  !FOLDED.test(local) && isNormalForm(local) && isNormalForm(lowerAscii(local))

export const localPartOf = (email: string): string => email.slice(0, email.lastIndexOf("@"))

export const UNAMBIGUOUS_EMAIL =
  "an email address without characters before the @ that Unicode folds to others: A to Z, "
  + "and others in lower case and normal form NFKC"

/** A new account needs such an address. A stored one may be ambiguous, and is known by its exact spelling. */
export const NewEmail = Email.check(
  Schema.makeFilter((email) => isUnambiguous(localPartOf(email)), { expected: UNAMBIGUOUS_EMAIL })
)

export const PASSWORD_LENGTH = { minimum: 12, maximum: 1024 } as const

/** Examples have this password. */
export const PASSWORD = "a long enough password"

export const PASSWORD_RULE = `${PASSWORD_LENGTH.minimum} to ${grouped(PASSWORD_LENGTH.maximum)} characters`

/** The `PasswordPolicy` service checks its strength. */
export const NewPassword = WellFormedString.check(isNormalizedLength(PASSWORD_LENGTH.minimum, PASSWORD_LENGTH.maximum))
  .annotate({ description: `The password: ${PASSWORD_RULE}` })

export const PasswordAttempt = WellFormedString.check(isNormalizedLength(1, PASSWORD_LENGTH.maximum)).annotate({
  description: "The password"
})

/** Examples have this mailed token. */
export const MAILED_TOKEN = "Qm9yZGVybGluZS10b2tlbi1mb3ItdmVyaWZpY2F0aW9u"

export const MailedToken = WellFormedString.check(isCodePointLength(1, 256)).annotate({
  description: "The token out of the mail"
})

export const PublicProfile = Schema.Struct({
  ...UserSummary.fields,
  createdAt: CreatedAt,
  publicRoutes: Schema.Int.annotate({ description: "How many routes the public listing has of the user" })
}).annotate(named("PublicProfile", "What anyone sees of a user.", {
  ...USER_SUMMARY,
  createdAt: "2025-05-01T12:00:00.000Z",
  publicRoutes: 0
}))
export type PublicProfile = typeof PublicProfile.Type

const AVATAR = /^[Hh][Tt][Tt][Pp][Ss]:\/\/[^/\\\s]/u

export const isAvatar = (text: string) => {
  const url = parsedUrl(text)
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
  preferences: Schema.optionalKey(
    Schema.NullOr(PreferencesPatch).annotate({ description: SETTINGS, expected: "an object or null" })
  )
}).annotate(
  named("ProfilePatch", "What to change of the account.", { name: "Ada", preferences: { units: "imperial" } })
)
export type ProfilePatch = typeof ProfilePatch.Type
