import { Duration } from "effect"

/** Deleted routes, collections and accounts are erased after this time. */
export const GRACE_PERIOD = Duration.days(30)

/** A session ends this long after its sign-in, however often it is renewed (NIST SP 800-63B, AAL1). */
export const SESSION_LIFETIME = Duration.days(30)

export const SESSION_TOKEN_LIFETIME = Duration.minutes(15)

export const LINK_LIFETIME = { "verify-email": Duration.hours(24), "reset-password": Duration.minutes(30) } as const

/** A sign-in by redirect may stay at the identity provider this long. */
export const PROVIDER_SIGN_IN_LIFETIME = Duration.minutes(10)

/** An invitation lasts longer, since the recipient did not ask for the link. */
export const INVITATION_LIFETIME = Duration.days(7)

/** A sign-up whose email address is not verified is kept this long. */
export const UNVERIFIED_LIFETIME = Duration.days(7)

export const IDEMPOTENCY_RETENTION = Duration.hours(24)

export const AUDIT_RETENTION = Duration.days(90)

export const DEFAULT_TOKEN_DAYS = 90

/** Responses to a personal access token announce its end this long before. */
export const TOKEN_EXPIRY_NOTICE = Duration.days(14)

/** The owner of a personal access token gets a mail this long before it expires. */
export const TOKEN_EXPIRY_MAILED = Duration.days(7)

/** A revoked or expired token is refused with its reason for this long. */
export const ENDED_TOKENS_KEPT = Duration.days(90)

/** The page of a used or expired link says which of both it is for this long. */
export const ENDED_LINKS_KEPT = Duration.days(7)

/** One network (a /24 of IPv4, a /48 of IPv6) can request this many mails to one address. */
export const MAILS_AN_HOUR = 5
export const MAILS_A_DAY = 10

/** All networks together can request this many mails to one address, which is more than two can use up. */
export const MAILS_A_DAY_IN_ALL = 30

export const MAIL_LIMIT =
  `${MAILS_AN_HOUR} mails an hour and ${MAILS_A_DAY} a day for each network that asks (the /24 of IPv4, `
  + `the /48 of IPv6), and ${MAILS_A_DAY_IN_ALL} a day for all networks together`

export const DOWNLOADS_AN_ADDRESS = 8

/** Each user has at most this many tokens; expired ones do not count. */
export const MAX_TOKENS = 50

/** The elevations of all lines of a request may take this long, so that the route is stored within its timeout. */
export const ELEVATION_TIMEOUT = Duration.seconds(4)

/** A second request with the same `Idempotency-Key` waits this long while the first is in progress. */
export const IDEMPOTENCY_WAIT = Duration.seconds(5)

/** A location is snapped to a road within a walk of ten minutes: the engine would take one 35 km away. */
export const MAX_SNAP_METRES = 1000

/** The engine matches this much within the timeout. */
export const MAX_TRACE_METRES = 2_000_000

/** These limits of a JSON body let a client send back a whole response. */
export const JSON_LIMITS = { depth: 16, members: 1000, spareValues: 100_000 } as const

/** A body may stand still for this time, and fall behind this rate by it. */
export const BODY_ALLOWANCE = { grace: Duration.seconds(5), bytesPerSecond: 16 * 1024 } as const

export const wholeSeconds = (duration: Duration.Duration): number => Math.ceil(Duration.toSeconds(duration))

/** Writes `1,000`. A formatter of `Intl` would take 40 ms of the start. */
export const grouped = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ",")

const UNITS = [[86_400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]] as const

/** Returns the duration in the largest unit that occurs at least twice. */
export const inUnits = (duration: Duration.Duration) => {
  const seconds = Duration.toSeconds(duration)
  const [length, unit] = UNITS.find(([length]) => seconds >= 2 * length && seconds % length === 0) ?? [1, "second"]
  return { count: seconds / length, unit }
}

/** Writes `24 hours`. */
export const inWords = (duration: Duration.Duration): string => {
  const { count, unit } = inUnits(duration)
  return `${count} ${unit}s`
}

export const RATE_TIERS = { auth: 5, strict: 10, moderate: 60, default: 300 } as const

export type RateTier = keyof typeof RATE_TIERS

export const RATE_WINDOW_SECONDS = 60
