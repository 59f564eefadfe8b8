import { Duration, Schema } from "effect"
import { Duplicate } from "../schema/Import.ts"
import { summaryOf } from "../schema/Issues.ts"
import { wholeSeconds } from "../schema/Limits.ts"
import { QUOTAS } from "../schema/User.ts"

/** `locations` are the indexes of the locations without a road within `metres`, if both are known. */
export class NoRoad extends Schema.TaggedError<NoRoad>()("NoRoad", {
  near: Schema.optionalKey(Schema.Struct({ metres: Schema.Int, locations: Schema.Array(Schema.Int) }))
}) {}

export class NoPath extends Schema.TaggedError<NoPath>()("NoPath", {
  of: Schema.Literals(["locations", "trace"])
}) {}

/** The upstream's response cannot be used. `name` begins a sentence. */
export class UpstreamUnusable extends Schema.TaggedError<UpstreamUnusable>()("UpstreamUnusable", {
  name: Schema.String
}) {}

export class UpstreamAway extends Schema.TaggedError<UpstreamAway>()("UpstreamAway", { name: Schema.String }) {}

export class UpstreamSlow extends Schema.TaggedError<UpstreamSlow>()("UpstreamSlow", { name: Schema.String }) {}

/** The upstream has as many calls, running and waiting, as it may. */
export class EngineBusy extends Schema.TaggedError<EngineBusy>()("EngineBusy", {}) {}

/** The engine refused a request for a mistake that is not the client's. */
export class EngineMisused extends Schema.TaggedError<EngineMisused>()("EngineMisused", {}) {}

/** `member` of the request exceeds a limit of the engine; `locations` if absent. */
export class BeyondEngine extends Schema.TaggedError<BeyondEngine>()("BeyondEngine", {
  limit: Schema.Literals(["locations", "points", "distance", "bounds", "gaps"]),
  member: Schema.optionalKey(Schema.String)
}) {}

/** `member` of the request has a trace of more than `metres`. */
export class TraceTooLong extends Schema.TaggedError<TraceTooLong>()("TraceTooLong", {
  member: Schema.String,
  metres: Schema.Int
}) {}

export class ProviderBusy extends Schema.TaggedError<ProviderBusy>()("ProviderBusy", {}) {}

export class ProviderNotConfigured extends Schema.TaggedError<ProviderNotConfigured>()("ProviderNotConfigured", {}) {}

export const UpstreamError = Schema.Union([
  NoRoad,
  NoPath,
  UpstreamUnusable,
  UpstreamAway,
  UpstreamSlow,
  EngineBusy,
  EngineMisused,
  BeyondEngine,
  TraceTooLong,
  ProviderBusy,
  ProviderNotConfigured
])
export type UpstreamError = typeof UpstreamError.Type

/** A schema cannot check this input, such as a file or a password. `path` is a member of it, empty for the whole. */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", {
  issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })),
  /** The part is the body if absent. */
  part: Schema.optionalKey(Schema.Literals(["body", "query"]))
}) {
  static at(path: string, message: string): InvalidInput {
    return new InvalidInput({ issues: [{ path, message }] })
  }

  static inQuery(path: string, message: string): InvalidInput {
    return new InvalidInput({ issues: [{ path, message }], part: "query" })
  }

  override get message(): string {
    return summaryOf(this.issues)
  }
}

/** A file of an upload is too large, or all its files are after unpacking. */
export class FilesTooLarge extends Schema.TaggedError<FilesTooLarge>()("FilesTooLarge", { limitBytes: Schema.Int }) {}

export class UnknownFormat extends Schema.TaggedError<UnknownFormat>()("UnknownFormat", {}) {}

export class UnknownEncoding extends Schema.TaggedError<UnknownEncoding>()("UnknownEncoding", {
  encoding: Schema.String
}) {}

/** A named thing does not exist, or the caller may not see it. `member` is a route of a collection. */
export class Missing extends Schema.TaggedError<Missing>()("Missing", {
  kind: Schema.Literals([
    "route",
    "collection",
    "member",
    "page",
    "user",
    "session",
    "token",
    "link",
    "provider",
    "invitation"
  ])
}) {}

/** A collection may not have these routes: they are neither the owner's nor public. */
export class RoutesMissing extends Schema.TaggedError<RoutesMissing>()("RoutesMissing", {
  routeIds: Schema.Array(Schema.Int)
}) {}

/** The cue at `index` is not on the geometry, which has so many positions. */
export class CueBeyondLine extends Schema.TaggedError<CueBeyondLine>()("CueBeyondLine", {
  index: Schema.Int,
  positions: Schema.Int
}) {}

/** `current` is none of the versions that the caller accepts to change. */
export class StaleVersion extends Schema.TaggedError<StaleVersion>()("StaleVersion", {
  kind: Schema.Literals(["route", "collection"]),
  current: Schema.Int
}) {}

export class QuotaExceeded extends Schema.TaggedError<QuotaExceeded>()("QuotaExceeded", {
  quota: Schema.Literals(QUOTAS),
  limit: Schema.Int,
  used: Schema.Int
}) {}

export class TooManyWaiting extends Schema.TaggedError<TooManyWaiting>()("TooManyWaiting", {
  retryAfterSeconds: Schema.Int
}) {}

/** The cursor belongs to another database, or is older than deletions that were purged. */
export class CursorExpired extends Schema.TaggedError<CursorExpired>()("CursorExpired", {}) {}

export class DuplicateRoutes extends Schema.TaggedError<DuplicateRoutes>()("DuplicateRoutes", {
  duplicates: Schema.Array(Duplicate)
}) {}

export class CollectionFull extends Schema.TaggedError<CollectionFull>()("CollectionFull", { limit: Schema.Int }) {}

/** The account has `used` zones, and would have more than `limit`. */
export class ZonesFull extends Schema.TaggedError<ZonesFull>()("ZonesFull", {
  limit: Schema.Int,
  used: Schema.Int
}) {}

/** The change would make this many zones of the account hide less. */
export class ZonesShrink extends Schema.TaggedError<ZonesShrink>()("ZonesShrink", { zones: Schema.Int }) {}

export class TokenRefused extends Schema.TaggedError<TokenRefused>()("TokenRefused", {
  reason: Schema.Literals([
    "token_malformed",
    "token_unknown",
    "token_revoked",
    "token_expired",
    "account_pending_deletion"
  ])
}) {}

export class TooManyLinks extends Schema.TaggedError<TooManyLinks>()("TooManyLinks", { limit: Schema.Int }) {}

/** The link was made with `allowDownload: false`. */
export class DownloadRefused extends Schema.TaggedError<DownloadRefused>()("DownloadRefused", {}) {}

export class AlreadyPast extends Schema.TaggedError<AlreadyPast>()("AlreadyPast", { member: Schema.String }) {}

export class TooManyTokens extends Schema.TaggedError<TooManyTokens>()("TooManyTokens", { limit: Schema.Int }) {}

export class KeyInUse extends Schema.TaggedError<KeyInUse>()("KeyInUse", {}) {}

export class KeyReused extends Schema.TaggedError<KeyReused>()("KeyReused", {}) {}

/** The `clientId` has made something that is deleted since. */
export class ClientIdUsed extends Schema.TaggedError<ClientIdUsed>()("ClientIdUsed", {}) {}

/** Another route of the account has the same `source`; it may be in the trash. */
export class SourceUsed extends Schema.TaggedError<SourceUsed>()("SourceUsed", {}) {}

export class HandleTaken extends Schema.TaggedError<HandleTaken>()("HandleTaken", {}) {}

export class AddressTaken extends Schema.TaggedError<AddressTaken>()("AddressTaken", {}) {}

/** No deletion is pending, or its grace period is over. */
export class NothingToCancel extends Schema.TaggedError<NothingToCancel>()("NothingToCancel", {}) {}

/** Administrators cannot delete their own account as they delete that of a user. */
export class OwnAccount extends Schema.TaggedError<OwnAccount>()("OwnAccount", {}) {}

export class ImportRunning extends Schema.TaggedError<ImportRunning>()("ImportRunning", {}) {}

/** An archive of this service is a whole account, which no personal access token imports. */
export class ArchiveNeedsSession extends Schema.TaggedError<ArchiveNeedsSession>()("ArchiveNeedsSession", {}) {}

/** The deletion of the account was requested during an import into it. */
export class AccountDeleted extends Schema.TaggedError<AccountDeleted>()("AccountDeleted", {}) {}

/** An unknown address, a wrong password and an account without one fail alike. */
export class WrongCredentials extends Schema.TaggedError<WrongCredentials>()("WrongCredentials", {}) {}

export class WrongPassword extends Schema.TaggedError<WrongPassword>()("WrongPassword", {}) {}

/** The address of a sign-up is not verified; a new link has been mailed. */
export class EmailUnverified extends Schema.TaggedError<EmailUnverified>()("EmailUnverified", {}) {}

/** The link needs the password of its sign-up, since the address has other sign-ups. */
export class SignUpPasswordNeeded extends Schema.TaggedError<SignUpPasswordNeeded>()("SignUpPasswordNeeded", {}) {}

export class SignUpPasswordWrong extends Schema.TaggedError<SignUpPasswordWrong>()("SignUpPasswordWrong", {}) {}

export class SignUpClosed extends Schema.TaggedError<SignUpClosed>()("SignUpClosed", {}) {}

export const LinkState = Schema.Literals(["used", "expired", "unknown"])
export type LinkState = typeof LinkState.Type

/** A link whose row is gone is unknown. */
export class LinkUnusable extends Schema.TaggedError<LinkUnusable>()("LinkUnusable", { state: LinkState }) {}

/** Each reason gives the same error, so that it reveals nothing. */
export class SignInRefused extends Schema.TaggedError<SignInRefused>()("SignInRefused", {}) {}

export class ProviderDisabled extends Schema.TaggedError<ProviderDisabled>()("ProviderDisabled", {}) {}

export class ProviderEmailUnverified
  extends Schema.TaggedError<ProviderEmailUnverified>()("ProviderEmailUnverified", {})
{}

/** The provider sent the user back with an error, such as when they cancelled. */
export class ProviderDeclined extends Schema.TaggedError<ProviderDeclined>()("ProviderDeclined", {}) {}

/** The browser has not begun the sign-in that it returns from, or too long ago. */
export class SignInNotBegun extends Schema.TaggedError<SignInNotBegun>()("SignInNotBegun", {}) {}

/** The account has another identity of the same provider. */
export class LinkedElsewhere extends Schema.TaggedError<LinkedElsewhere>()("LinkedElsewhere", {}) {}

/** The process or a job has reached a limit. Nothing is stored after `job_time`, `job_memory` and `job_ended`. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  reason: Schema.Literals([
    "lists",
    "totals",
    "downloads",
    "imports",
    "exports",
    "sign_ins",
    "passwords",
    "links",
    "changes",
    "traces",
    "route_changes",
    "writes",
    "waiting_requests",
    "uploads",
    "archives",
    "keyed_work",
    "upload_disk",
    "download_disk",
    "jobs",
    "job_time",
    "job_memory",
    "job_ended"
  ]),
  retryAfterSeconds: Schema.optionalKey(Schema.Int)
}) {
  static retryAfter(reason: Overloaded["reason"], wait: Duration.Duration): Overloaded {
    return new Overloaded({ reason, retryAfterSeconds: wholeSeconds(wait) })
  }
}

export class NotReady extends Schema.TaggedError<NotReady>()("NotReady", {
  reason: Schema.Literals(["database", "shutdown"])
}) {}

export class MetricsDisabled extends Schema.TaggedError<MetricsDisabled>()("MetricsDisabled", {}) {}

/** Files of other requests use all the disk space that this process may use. */
export class SpoolFull extends Schema.TaggedError<SpoolFull>()("SpoolFull", {}) {}

/** Callers can act on these facts. `StaleVersion` is not among them: its response needs the current `ETag`. */
export const DomainError = Schema.Union([
  InvalidInput,
  FilesTooLarge,
  UnknownFormat,
  UnknownEncoding,
  Missing,
  RoutesMissing,
  CueBeyondLine,
  QuotaExceeded,
  CollectionFull,
  TooManyWaiting,
  CursorExpired,
  DuplicateRoutes,
  TokenRefused,
  ZonesFull,
  ZonesShrink,
  TooManyTokens,
  TooManyLinks,
  DownloadRefused,
  AlreadyPast,
  KeyInUse,
  KeyReused,
  ClientIdUsed,
  SourceUsed,
  HandleTaken,
  AddressTaken,
  NothingToCancel,
  OwnAccount,
  ImportRunning,
  ArchiveNeedsSession,
  AccountDeleted,
  WrongCredentials,
  WrongPassword,
  EmailUnverified,
  SignUpPasswordNeeded,
  SignUpPasswordWrong,
  SignUpClosed,
  LinkUnusable,
  SignInRefused,
  ProviderDisabled,
  ProviderEmailUnverified,
  ProviderDeclined,
  SignInNotBegun,
  LinkedElsewhere,
  Overloaded,
  NotReady,
  MetricsDisabled,
  SpoolFull,
  ...UpstreamError.members
])
export type DomainError = typeof DomainError.Type
