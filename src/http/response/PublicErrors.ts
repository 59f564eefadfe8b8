import { Duration, Effect, Match, Schema } from "effect"
import {
  type BeyondEngine,
  DomainError,
  type DuplicateRoutes,
  type NoRoad,
  type QuotaExceeded,
  type StaleVersion
} from "../../schema/DomainErrors.ts"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  Gone,
  Internal,
  NotFound,
  RateLimited,
  type ServiceError,
  Unauthorized,
  Unavailable,
  ValidationFailed
} from "../../schema/Errors.ts"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import type { Quota } from "../../schema/Usage.ts"

const ABSENT = {
  route: "No such route",
  collection: "No such collection",
  member: "No such route in this collection",
  page: "No such page",
  user: "No such user",
  session: "No such session",
  token: "No such token"
} as const

const OVER: Readonly<Record<Quota, (limit: number) => string>> = {
  routes: (limit) => `An account may have at most ${limit} routes`,
  storedBytes: (limit) => `The routes and kept responses of an account may have at most ${limit} bytes`,
  collections: (limit) => `An account may have at most ${limit} collections`
}

const REFUSED_TOKEN = {
  token_malformed: "The token is malformed: its checksum does not fit",
  token_unknown: "The token is unknown",
  token_revoked: "The token was revoked",
  token_expired: "The token has expired"
} as const

const overQuota = ({ limit, quota, used }: QuotaExceeded) =>
  new Conflict({
    message: `${OVER[quota](limit)}; deleted ones count until they are purged after ${inWords(GRACE_PERIOD)}`,
    details: { quota, limit, used }
  })

const duplicateRoutes = ({ duplicates }: DuplicateRoutes) => {
  const [first] = duplicates
  return new Conflict({
    message: "An own route has the same positions: expected another file, or duplicates=allow",
    details: { reason: "duplicate_route", ...(first === undefined ? {} : { routeId: first.routeId }), duplicates }
  })
}

const NO_ROAD = "no_road_near_location"

const noRoad = ({ near }: NoRoad) => {
  if (near === undefined) {
    return new NotFound({ message: "There is no road near a location", details: { reason: NO_ROAD } })
  }
  const { locations, metres } = near
  const names = locations.length === 0 ? "a location" : locations.map((index) => `locations.${index}`).join(", ")
  return new NotFound({
    message: `There is no road within ${metres} m of ${names}`,
    details: { reason: NO_ROAD, ...(locations.length === 0 ? {} : { locations }) }
  })
}

const PATHLESS = {
  locations: "There is no path between the locations",
  trace: "The trace does not follow any roads"
} as const

const BEYOND = {
  locations: { reason: "too_many_locations", message: "There are too many locations" },
  points: { reason: "too_many_points", message: "The trace has too many points" },
  distance: { reason: "too_far", message: "The locations are too far apart" },
  bounds: { reason: "too_far", message: "The trace is out of the engine's bounds" },
  gaps: { reason: "too_far", message: "The points of the trace are too far apart" }
} as const

const beyondEngine = ({ limit }: BeyondEngine) => {
  const { message, reason } = BEYOND[limit]
  return new ValidationFailed({ message, details: { reason, issues: [{ path: "", message }] } })
}

export const staleConflict = ({ kind }: StaleVersion, etag: string) =>
  new Conflict({ message: `The ${kind} was changed meanwhile`, details: { etag } })

const conflict = (message: string) => () => new Conflict({ message })

const forbidden = (message: string) => () => new Forbidden({ message })

const PUBLIC = {
  Missing: ({ kind }) => new NotFound({ message: ABSENT[kind] }),
  RoutesMissing: ({ routeIds }) => new NotFound({ message: "No such route", details: { routeIds } }),
  QuotaExceeded: overQuota,
  TooManyWaiting: ({ retryAfterSeconds }) =>
    new RateLimited({
      message: "Too many requests of this account wait for a change: try again when one has ended",
      details: { retryAfterSeconds }
    }),
  CursorExpired: () =>
    new Gone({ message: "The cursor is expired: start again without one", details: { reason: "cursor_expired" } }),
  DuplicateRoutes: duplicateRoutes,
  CollectionFull: ({ limit }) => new Conflict({ message: `A collection may have at most ${limit} routes` }),
  TokenRefused: ({ reason }) => new Unauthorized({ message: REFUSED_TOKEN[reason], details: { reason } }),
  TooManyTokens: ({ limit }) => new Conflict({ message: `A user may have at most ${limit} tokens: revoke one first` }),
  KeyInUse: conflict("The first request with this Idempotency-Key is still in progress"),
  KeyReused: conflict("This Idempotency-Key was used for another request"),
  HandleTaken: conflict("This handle is taken"),
  AddressTaken: conflict("The address has an account already"),
  NothingToCancel: conflict("There is no deletion that can be cancelled"),
  OwnAccount: conflict("Your own account: use DELETE /users/me"),
  ImportRunning: conflict("Another archive is being taken into this account: try again when that is done"),
  LinkedElsewhere: conflict("This account is linked to another identity of the provider"),
  AccountLeaving: forbidden(
    "The account is about to be deleted: cancel the deletion, then send the archive again"
  ),
  WrongPassword: forbidden("The current password is wrong"),
  EmailUnverified: forbidden("Verify your email address first: a new link has been mailed"),
  ProviderEmailUnverified: forbidden("The identity provider has not verified the email address"),
  SignUpClosed: () =>
    new Forbidden({
      message: "Sign-up is closed here: ask an administrator for an invitation",
      details: { reason: "signup_disabled" }
    }),
  ProviderDisabled: () =>
    new Forbidden({
      message: "Sign-in by an identity provider is switched off here: sign in by email",
      details: { reason: "provider_sign_in_disabled" }
    }),
  WrongCredentials: () => new Unauthorized({ message: "Wrong email address or password" }),
  SignInRefused: () => new Unauthorized({ message: "The sign-in was not accepted" }),
  LinkUnusable: () => ValidationFailed.at("token", "Expected a link that is still good"),
  SpoolFull: () => Unavailable.retryAfter("Too many long files are being sent: try again", Duration.seconds(5)),
  UpstreamUnusable: ({ name }) => new BadGateway({ message: `${name} sent an unusable response` }),
  UpstreamAway: ({ name }) => new Unavailable({ message: `${name} is not reachable` }),
  UpstreamSlow: ({ name }) => new GatewayTimeout({ message: `${name} did not respond in time` }),
  EngineBusy: () => new Unavailable({ message: "The routing engine is busy: try again" }),
  EngineMisused: () => new Internal({ message: "Something went wrong on our side" }),
  BeyondEngine: beyondEngine,
  TraceTooLong: ({ member, metres }) =>
    new ValidationFailed({
      message: "The trace is too long",
      details: {
        reason: "too_far",
        issues: [{ path: member, message: `Expected a trace of at most ${metres / 1000} km` }]
      }
    }),
  ProviderBusy: () => new Unavailable({ message: "Too many sign-ins are in progress: try again" }),
  ProviderNotConfigured: () => new Unavailable({ message: "Sign-in by an identity provider is not configured" }),
  NoRoad: noRoad,
  NoPath: ({ of }) => new NotFound({ message: PATHLESS[of], details: { reason: "no_path" } })
} satisfies { readonly [Error in DomainError as Error["_tag"]]: (error: Error) => ServiceError }

type PublicError<E> = E extends DomainError ? ReturnType<typeof PUBLIC[E["_tag"]]> : E

export const isDomainError = Schema.is(DomainError)

export const publicErrorOf = (error: DomainError): ServiceError => Match.valueTags(error, PUBLIC)

/** Maps every failure of a service to the error of the contract; others stay as they are. */
export function worded<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, PublicError<E>, R>
export function worded(effect: Effect.Effect<unknown, unknown, unknown>): Effect.Effect<unknown, unknown, unknown> {
  return Effect.mapError(effect, (error) => isDomainError(error) ? publicErrorOf(error) : error)
}
