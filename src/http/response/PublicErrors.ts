import { Duration, Effect, Match, Schema } from "effect"
import type { ReasonOf, ResourceFacts } from "../../schema/ErrorDetails.ts"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  Gone,
  NotFound,
  PayloadTooLarge,
  RateLimited,
  type ServiceError,
  Unauthorized,
  Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { MAX_UNPACKED_BYTES } from "../../schema/Import.ts"
import { GRACE_PERIOD, inWords, PROVIDER_SIGN_IN_LIFETIME } from "../../schema/Limits.ts"
import type { Quota } from "../../schema/User.ts"
import {
  type BeyondEngine,
  type CueBeyondLine,
  DomainError,
  type DuplicateRoutes,
  type NoRoad,
  type Overloaded,
  type QuotaExceeded,
  type StaleVersion,
  type UpstreamError
} from "../../services/DomainErrors.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { CIRCUIT_OPEN_FOR } from "../../services/routing/Engine.ts"
import { shrinking, unconfirmed } from "../request/Confirmation.ts"
import { internalError, isFault, noteError } from "./ErrorResponse.ts"

const TOO_MANY_SIGN_INS = "Too many sign-ins are in progress: try again"

const noRoad = ({ near }: NoRoad) => {
  if (near === undefined) {
    return new NotFound({ message: "There is no road near a location", details: { reason: "no_road_near_location" } })
  }
  const { locations, metres } = near
  const names = locations.length === 0 ? "a location" : locations.map((index) => `locations.${index}`).join(", ")
  return new NotFound({
    message: `There is no road within ${metres} m of ${names}`,
    details: { reason: "no_road_near_location", ...(locations.length === 0 ? {} : { locations }) }
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

const beyondEngine = ({ limit, member = "locations" }: BeyondEngine) => {
  const { message, reason } = BEYOND[limit]
  return new ValidationFailed({ message, details: { reason, issues: [{ path: `body.${member}`, message }] } })
}

/** These messages are for failures of upstream services, and for limits of the routing engine. */
const PUBLIC_UPSTREAM = {
  UpstreamUnusable: ({ name }) => new BadGateway({ message: `${name} sent an unusable response` }),
  UpstreamAway: ({ name }) => Unavailable.retryAfter(`${name} is not reachable`, CIRCUIT_OPEN_FOR),
  UpstreamSlow: ({ name }) => new GatewayTimeout({ message: `${name} did not respond in time` }),
  EngineBusy: () => Unavailable.retryAfter("The routing engine is busy: try again", Duration.seconds(2)),
  EngineMisused: internalError,
  BeyondEngine: beyondEngine,
  TraceTooLong: ({ member, metres }) =>
    new ValidationFailed({
      message: "The trace is too long",
      details: {
        reason: "too_far",
        issues: [{ path: `body.${member}`, message: `Expected a trace of at most ${metres / 1000} km` }]
      }
    }),
  ProviderBusy: () => Unavailable.retryAfter(TOO_MANY_SIGN_INS, CIRCUIT_OPEN_FOR),
  ProviderNotConfigured: () => new Unavailable({ message: "Sign-in by an identity provider is not configured" }),
  NoRoad: noRoad,
  NoPath: ({ of }) => new NotFound({ message: PATHLESS[of], details: { reason: "no_path" } })
} satisfies { readonly [Error in UpstreamError as Error["_tag"]]: (error: Error) => ServiceError }

const ABSENT = {
  route: "No such route",
  collection: "No such collection",
  member: "No such route in this collection",
  page: "No such page",
  user: "No such user",
  session: "No such session",
  token: "No such token",
  link: "No such link",
  provider: "No such identity provider",
  invitation: "No such invitation"
} as const

const COUNTED = `deleted ones count until they are purged after ${inWords(GRACE_PERIOD)}`

const OVER: Readonly<Record<Quota, (limit: number) => string>> = {
  routes: (limit) => `An account may have at most ${limit} routes; ${COUNTED}`,
  storedBytes: (limit) => `The routes and kept responses of an account may have at most ${limit} bytes; ${COUNTED}`,
  collections: (limit) => `An account may have at most ${limit} collections; those in the trash do not count`
}

const REFUSED_TOKEN = {
  token_malformed: "The token is malformed: its checksum does not fit",
  token_unknown: "The token is unknown",
  token_revoked: "The token was revoked",
  token_expired: "The token has expired",
  account_pending_deletion: "The account is pending deletion: the token works again after the deletion is cancelled"
} as const

const overQuota = ({ limit, quota, used }: QuotaExceeded) =>
  new Conflict({
    message: OVER[quota](limit),
    details: { reason: "quota_exceeded", quota, limit, used }
  })

const duplicateRoutes = ({ duplicates }: DuplicateRoutes) => {
  const [first] = duplicates
  return new Conflict({
    message: "An own route has the same positions: expected another file, or duplicates=allow",
    details: { reason: "duplicate_route", ...(first === undefined ? {} : { routeId: first.routeId }), duplicates }
  })
}

const OVERLOADED: Readonly<Record<Overloaded["reason"], string>> = {
  lists: "Too many lists are being read: try again",
  totals: "The list has not been counted in time: try again",
  downloads: "Too many files are being written: try again",
  imports: "Too many files are being imported: try again",
  exports: "Too many accounts are being exported: try again",
  sign_ins: TOO_MANY_SIGN_INS,
  passwords: "Too many passwords are being checked: try again",
  links: "Another link of this account is being used: try again",
  changes: "Too many changes are being read: try again",
  traces: "Too many traces are being matched: try again",
  writes: "Too many changes of this account are in progress: try again",
  route_changes: "The route is being changed: try again",
  waiting_requests: "Too many requests wait for a change: try again",
  uploads: "Too many uploads are in progress: try again later",
  archives: "Other archives are being imported: try again later",
  keyed_work: "The work of this Idempotency-Key did not end in time",
  upload_disk: "There is no room for an upload now: try again later",
  download_disk: "There is no room for a download now: try again later",
  jobs: "Too much work of this kind is pending: try again",
  job_time: "The request takes more time than one request may have",
  job_memory: "The request takes more memory than one request may have",
  job_ended: "The work ended before it was done: try again"
}

const overloaded = ({ reason, retryAfterSeconds }: Overloaded) =>
  new Unavailable({
    message: OVERLOADED[reason],
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } })
  })

const NOT_READY = {
  database: "The database is not reachable",
  shutdown: "The service is shutting down"
} as const

const cueBeyondLine = ({ index, positions }: CueBeyondLine) =>
  ValidationFailed.at(
    "body",
    `cues.${index}.begin_shape_index`,
    positions === 0
      ? "Expected no cues, the route has no geometry"
      : `Expected the index of a position of the geometry, 0 to ${positions - 1}`
  )

export interface Current {
  readonly etag: string
  readonly current: ResourceFacts
}

export const staleConflict = ({ kind }: StaleVersion, { current, etag }: Current) =>
  new Conflict({ message: `The ${kind} was changed meanwhile`, details: { reason: "stale", etag, current } })

const conflict = (reason: ReasonOf<409>, message: string) => () => new Conflict({ message, details: { reason } })

const forbidden = (reason: ReasonOf<403>, message: string) => () => new Forbidden({ message, details: { reason } })

const unauthorized = (reason: ReasonOf<401>, message: string) => () =>
  new Unauthorized({ message, details: { reason } })

export const wrongCredentials = unauthorized("wrong_credentials", "Wrong email address or password")

const PUBLIC = {
  InvalidInput: ({ issues, part = "body" }) => ValidationFailed.of(part, issues),
  FilesTooLarge: ({ limitBytes }) =>
    new PayloadTooLarge({
      message:
        `The files may have at most ${MAX_UNPACKED_BYTES} bytes together, unpacked: import a larger ZIP with POST /users/me/import`,
      details: { limitBytes }
    }),
  UnknownFormat: () =>
    new UnsupportedMediaType({
      message:
        "Expected a file of GPX, GeoJSON, TCX, KML or FIT, compressed with gzip or not, or several of them as a ZIP "
        + "archive (KMZ) or as multipart/form-data"
    }),
  UnknownEncoding: ({ encoding }) =>
    new UnsupportedMediaType({
      message: `The encoding ${encoding} is not read: send UTF-8, UTF-16, or one that browsers read, such as ISO-8859-1`
    }),
  Overloaded: overloaded,
  NotReady: ({ reason }) => new Unavailable({ message: NOT_READY[reason] }),
  MetricsDisabled: () => new Unavailable({ message: "Metrics are not collected" }),
  Missing: ({ kind }) => new NotFound({ message: ABSENT[kind] }),
  RoutesMissing: ({ routeIds }) => new NotFound({ message: "No such route", details: { routeIds } }),
  CueBeyondLine: cueBeyondLine,
  QuotaExceeded: overQuota,
  TooManyWaiting: ({ retryAfterSeconds }) =>
    new RateLimited({
      message: "Too many requests of this account wait for a change: try again when one has ended",
      details: { reason: "too_many_waiting", retryAfterSeconds }
    }),
  CursorExpired: () =>
    new Gone({ message: "The cursor is expired: start again without one", details: { reason: "cursor_expired" } }),
  DuplicateRoutes: duplicateRoutes,
  CollectionFull: ({ limit }) =>
    new Conflict({ message: `A collection may have at most ${limit} routes`, details: { reason: "collection_full" } }),
  TokenRefused: ({ reason }) => new Unauthorized({ message: REFUSED_TOKEN[reason], details: { reason } }),
  ZonesFull: ({ limit }) =>
    new Conflict({
      message: `An account may have at most ${limit} privacy zones`,
      details: { reason: "too_many_zones" }
    }),
  ZonesShrink: ({ zones }) => unconfirmed(shrinking(zones)),
  TooManyTokens: ({ limit }) =>
    new Conflict({
      message: `A user may have at most ${limit} tokens: revoke one first`,
      details: { reason: "too_many_tokens" }
    }),
  TooManyLinks: ({ limit }) =>
    new Conflict({
      message: `There may be at most ${limit} links: delete one first`,
      details: { reason: "too_many_links" }
    }),
  DownloadRefused: forbidden(
    "download_not_allowed",
    "This link does not allow downloads: ask the owner of the route for one that does"
  ),
  AlreadyPast: ({ member }) => ValidationFailed.at("body", member, "Expected an instant in the future"),
  KeyInUse: conflict("key_in_use", "The first request with this Idempotency-Key is still in progress"),
  KeyReused: conflict("key_reused", "This Idempotency-Key was used for another request"),
  ClientIdUsed: conflict(
    "client_id_used",
    "What this clientId made has been deleted: restore it, or make another one by another clientId"
  ),
  SourceUsed: conflict(
    "source_used",
    "Another route of the account has this source: expected an externalId that is used once; deleted routes count"
  ),
  HandleTaken: conflict("handle_taken", "This handle is taken"),
  AddressTaken: conflict("address_taken", "The address has an account already"),
  NothingToCancel: conflict("nothing_to_cancel", "There is no deletion that can be cancelled"),
  OwnAccount: conflict("own_account", "Your own account: use DELETE /users/me"),
  ImportRunning: conflict(
    "import_running",
    "Another archive is being imported into this account: try again when that has ended"
  ),
  LinkedElsewhere: conflict("linked_elsewhere", "This account is linked to another identity of the provider"),
  AccountDeleted: forbidden(
    "account_pending_deletion",
    "The account is pending deletion: cancel the deletion, then send the archive again"
  ),
  ArchiveNeedsSession: forbidden(
    "session_required",
    "Personal access tokens import route files: expected a session with an archive of this service, such as to upload it on the page "
      + "\"Export and import\""
  ),
  WrongPassword: forbidden("current_password_wrong", "The current password is wrong"),
  EmailUnverified: forbidden("email_unverified", "Verify your email address first: a new link has been mailed"),
  ProviderEmailUnverified: forbidden(
    "provider_email_unverified",
    "The identity provider has not verified the email address"
  ),
  SignUpPasswordNeeded: conflict(
    "password_needed",
    "The address has several sign-ups: send the password of the one that this link was mailed for"
  ),
  SignUpPasswordWrong: forbidden(
    "password_wrong",
    "The password is not that of the sign-up that this link was mailed for"
  ),
  SignUpClosed: forbidden("signup_disabled", "Sign-up is closed here: ask an administrator for an invitation"),
  ProviderDisabled: forbidden(
    "provider_sign_in_disabled",
    "Sign-in by an identity provider is switched off here: sign in by email"
  ),
  WrongCredentials: wrongCredentials,
  SignInRefused: unauthorized("sign_in_refused", "The sign-in was not accepted"),
  ProviderDeclined: unauthorized("provider_declined", "The identity provider did not sign you in"),
  SignInNotBegun: unauthorized(
    "sign_in_not_begun",
    `The sign-in was not begun in this browser within the last ${inWords(PROVIDER_SIGN_IN_LIFETIME)}`
  ),
  LinkUnusable: () => ValidationFailed.at("body", "token", "Expected a link that was not used and has not expired"),
  SpoolFull: () => Unavailable.retryAfter("Too many long files are being sent: try again", Duration.seconds(5)),
  ...PUBLIC_UPSTREAM
} satisfies { readonly [Error in DomainError as Error["_tag"]]: (error: Error) => ServiceError }

type PublicError<E> = E extends DomainError ? ReturnType<typeof PUBLIC[E["_tag"]]> : E

export const isDomainError = Schema.is(DomainError)

const limitOf = (error: DomainError): string | undefined => {
  if (error._tag === "Overloaded") return error.reason
  return error._tag === "QuotaExceeded" ? error.quota : undefined
}

export const publicErrorOf = (error: DomainError): ServiceError => Match.valueTags(error, PUBLIC)

/** Returns the error of the contract, and writes it, and what it hides, into the notes of the request. */
export const publicError = (error: DomainError): Effect.Effect<ServiceError> =>
  Effect.flatMap(RequestNotes, (notes) => {
    const shown = publicErrorOf(error)
    const limit = limitOf(error)
    if (limit !== undefined) notes.fault = { limit }
    else if (isFault(shown)) notes.fault = { cause: error._tag }
    return noteError(shown)
  })

/** Maps every failure of a service to the error of the contract; others stay as they are. */
export function worded<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, PublicError<E>, R>
export function worded(effect: Effect.Effect<unknown, unknown, unknown>): Effect.Effect<unknown, unknown, unknown> {
  return effect.pipe(
    Effect.catch((error) => isDomainError(error) ? Effect.flip(publicError(error)) : Effect.fail(error))
  )
}
