import { Duration } from "effect"

/** After how long what an account deleted, or the account itself, is erased. */
export const GRACE_PERIOD = Duration.days(30)

/** A session ends this long after sign-in, however often it was renewed (NIST SP 800-63B, AAL1). */
export const SESSION_LIFETIME = Duration.days(30)

/** After how long the cookie of a session expires; each authenticated request renews it. */
export const SESSION_TOKEN_LIFETIME = Duration.minutes(15)

/** After how long the link of each purpose expires. */
export const LINK_LIFETIME = { "verify-email": Duration.hours(24), "reset-password": Duration.minutes(30) } as const

/** After how long a link to choose a first password expires, which its reader did not ask for. */
export const INVITATION_LIFETIME = Duration.days(7)

/** How long a sign-up whose address is not proven is kept. */
export const UNPROVEN_LIFETIME = Duration.days(7)

/** How long the response to a call with an `Idempotency-Key` is kept. */
export const IDEMPOTENCY_RETENTION = Duration.hours(24)

export const AUDIT_RETENTION = Duration.days(90)

/** After how many days a token expires unless its maker says otherwise. */
export const DEFAULT_TOKEN_DAYS = 90

/** How many mails of all kinds one address gets at most, in any stretch of time of this length. */
export const MAILS_AN_HOUR = 5
export const MAILS_A_DAY = 10

export const MAIL_LIMIT = `${MAILS_AN_HOUR} mails an hour and ${MAILS_A_DAY} a day`

/** How many downloads there are at once to one address. */
export const DOWNLOADS_AN_ADDRESS = 8

/** `24 hours`: in the largest unit of which there is more than one, for texts. */
export const inWords = (duration: Duration.Duration): string => {
  const seconds = Duration.toSeconds(duration)
  const units = [[86_400, "days"], [3600, "hours"], [60, "minutes"]] as const
  const unit = units.find(([length]) => seconds >= 2 * length && seconds % length === 0)
  return unit === undefined ? `${seconds} seconds` : `${seconds / unit[0]} ${unit[1]}`
}
