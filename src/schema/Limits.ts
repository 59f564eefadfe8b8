import { Duration } from "effect"

/** Deleted routes, collections and accounts are erased after this time. */
export const GRACE_PERIOD = Duration.days(30)

/** From sign-in, however often the session is renewed (NIST SP 800-63B, AAL1). */
export const SESSION_LIFETIME = Duration.days(30)

export const SESSION_TOKEN_LIFETIME = Duration.minutes(15)

export const LINK_LIFETIME = { "verify-email": Duration.hours(24), "reset-password": Duration.minutes(30) } as const

/** Longer, since the recipient did not ask for the link. */
export const INVITATION_LIFETIME = Duration.days(7)

/** Of a sign-up whose email address is not verified. */
export const UNVERIFIED_LIFETIME = Duration.days(7)

export const IDEMPOTENCY_RETENTION = Duration.hours(24)

export const AUDIT_RETENTION = Duration.days(90)

export const DEFAULT_TOKEN_DAYS = 90

/** Before a personal access token expires, its responses say when. */
export const TOKEN_EXPIRY_NOTICE = Duration.days(14)

/** Before a personal access token expires, its owner gets a mail. */
export const TOKEN_EXPIRY_MAILED = Duration.days(7)

/** How long the reason is known for which a revoked or expired token is refused. */
export const ENDED_TOKENS_KEPT = Duration.days(90)

/** To one address that one network (a /24 of IPv4, a /48 of IPv6) asks for. */
export const MAILS_AN_HOUR = 5
export const MAILS_A_DAY = 10

/** To one address, whichever networks ask: more than two can use up. */
export const MAILS_A_DAY_IN_ALL = 30

export const MAIL_LIMIT =
  `${MAILS_AN_HOUR} mails an hour and ${MAILS_A_DAY} a day for each network that asks (the /24 of IPv4, `
  + `the /48 of IPv6), and ${MAILS_A_DAY_IN_ALL} a day for all networks together`

export const DOWNLOADS_AN_ADDRESS = 8

/** For each user; expired tokens do not count. */
export const MAX_TOKENS = 50

/** For the elevations of all lines of a request, so that a route is stored within the timeout of its request. */
export const ELEVATION_TIMEOUT = Duration.seconds(4)

/** For a second request with the same `Idempotency-Key`, while the first is in progress. */
export const IDEMPOTENCY_WAIT = Duration.seconds(5)

/** To the road that a location is snapped to: the engine would take one 35 km away. This is a walk of ten minutes. */
export const MAX_SNAP_METRES = 1000

/** As much as the engine matches within the timeout. */
export const MAX_TRACE_METRES = 2_000_000

/** For a JSON body. A client may send back a whole response. */
export const JSON_LIMITS = { depth: 16, members: 1000, spareValues: 100_000 } as const

/** How long a body may stand still, and how far behind so many bytes a second it may fall. */
export const BODY_ALLOWANCE = { grace: Duration.seconds(5), bytesPerSecond: 16 * 1024 } as const

export const wholeSeconds = (duration: Duration.Duration): number => Math.ceil(Duration.toSeconds(duration))

/** `1,000`. A formatter of `Intl` would take 40 ms of the start. */
export const grouped = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ",")

/** In the largest unit of which there are at least two: `24 hours`. */
export const inWords = (duration: Duration.Duration): string => {
  const seconds = Duration.toSeconds(duration)
  const units = [[86_400, "days"], [3600, "hours"], [60, "minutes"]] as const
  const unit = units.find(([length]) => seconds >= 2 * length && seconds % length === 0)
  return unit === undefined ? `${seconds} seconds` : `${seconds / unit[0]} ${unit[1]}`
}

export const RATE_TIERS = { auth: 5, strict: 10, moderate: 60, default: 300 } as const

export type RateTier = keyof typeof RATE_TIERS

export const RATE_WINDOW_SECONDS = 60
