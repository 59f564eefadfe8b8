import { Schema } from "effect"
import { Duplicate } from "./Duplicate.ts"
import { QUOTAS } from "./Usage.ts"

/** Does not exist, or the caller may not see it. `member` is a route of a collection. */
export class Missing extends Schema.TaggedError<Missing>()("Missing", {
  kind: Schema.Literals(["route", "collection", "member", "page", "user", "session", "token"])
}) {}

/** Routes that a collection may not have: neither the owner's nor public. */
export class RoutesMissing extends Schema.TaggedError<RoutesMissing>()("RoutesMissing", {
  routeIds: Schema.Array(Schema.Int)
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

/** As many requests of the account as may wait for changes. */
export class TooManyWaiting extends Schema.TaggedError<TooManyWaiting>()("TooManyWaiting", {
  retryAfterSeconds: Schema.Int
}) {}

/** Of another database, or from before deletions that were purged. */
export class CursorExpired extends Schema.TaggedError<CursorExpired>()("CursorExpired", {}) {}

/** Own routes have the same positions as those of a file. */
export class DuplicateRoutes extends Schema.TaggedError<DuplicateRoutes>()("DuplicateRoutes", {
  duplicates: Schema.Array(Duplicate)
}) {}

export class CollectionFull extends Schema.TaggedError<CollectionFull>()("CollectionFull", { limit: Schema.Int }) {}

/** Why a personal access token is refused. */
export class TokenRefused extends Schema.TaggedError<TokenRefused>()("TokenRefused", {
  reason: Schema.Literals(["token_malformed", "token_unknown", "token_revoked", "token_expired"])
}) {}

export class TooManyTokens extends Schema.TaggedError<TooManyTokens>()("TooManyTokens", { limit: Schema.Int }) {}

/** The first request with an `Idempotency-Key` has not ended. */
export class KeyInUse extends Schema.TaggedError<KeyInUse>()("KeyInUse", {}) {}

/** An `Idempotency-Key` of another request. */
export class KeyReused extends Schema.TaggedError<KeyReused>()("KeyReused", {}) {}

export class HandleTaken extends Schema.TaggedError<HandleTaken>()("HandleTaken", {}) {}

export class AddressTaken extends Schema.TaggedError<AddressTaken>()("AddressTaken", {}) {}

/** No deletion is pending, or its grace period is over. */
export class NothingToCancel extends Schema.TaggedError<NothingToCancel>()("NothingToCancel", {}) {}

/** Administrators may not delete their own account as one of a user. */
export class OwnAccount extends Schema.TaggedError<OwnAccount>()("OwnAccount", {}) {}

/** Another archive is being imported into the account. */
export class ImportRunning extends Schema.TaggedError<ImportRunning>()("ImportRunning", {}) {}

/** The deletion of the account was requested during an import into it. */
export class AccountLeaving extends Schema.TaggedError<AccountLeaving>()("AccountLeaving", {}) {}

/** The same for an unknown address, a wrong password and an account without one. */
export class WrongCredentials extends Schema.TaggedError<WrongCredentials>()("WrongCredentials", {}) {}

/** Of the current password, before a change. */
export class WrongPassword extends Schema.TaggedError<WrongPassword>()("WrongPassword", {}) {}

/** The address of a sign-up is not verified; a new link has been mailed. */
export class EmailUnverified extends Schema.TaggedError<EmailUnverified>()("EmailUnverified", {}) {}

export class SignUpClosed extends Schema.TaggedError<SignUpClosed>()("SignUpClosed", {}) {}

/** A mailed link that is unknown, used or expired. */
export class LinkUnusable extends Schema.TaggedError<LinkUnusable>()("LinkUnusable", {}) {}

/** The same for every reason, so that it reveals nothing. */
export class SignInRefused extends Schema.TaggedError<SignInRefused>()("SignInRefused", {}) {}

export class ProviderDisabled extends Schema.TaggedError<ProviderDisabled>()("ProviderDisabled", {}) {}

export class ProviderEmailUnverified
  extends Schema.TaggedError<ProviderEmailUnverified>()("ProviderEmailUnverified", {})
{}

/** The account has another identity of the same provider. */
export class LinkedElsewhere extends Schema.TaggedError<LinkedElsewhere>()("LinkedElsewhere", {}) {}

/** Other files of this process have all the room on the disk. */
export class SpoolFull extends Schema.TaggedError<SpoolFull>()("SpoolFull", {}) {}

/** `locations` are the indexes of those without a road within `metres`, where both are known. */
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

/** Too many calls of an upstream run or wait. */
export class EngineBusy extends Schema.TaggedError<EngineBusy>()("EngineBusy", {}) {}

/** The engine refused a request for a mistake that is not the client's. */
export class EngineMisused extends Schema.TaggedError<EngineMisused>()("EngineMisused", {}) {}

/** A limit of the engine that the request exceeds. */
export class BeyondEngine extends Schema.TaggedError<BeyondEngine>()("BeyondEngine", {
  limit: Schema.Literals(["locations", "points", "distance", "bounds", "gaps"])
}) {}

/** `member` of the request has a trace of more than `metres`. */
export class TraceTooLong extends Schema.TaggedError<TraceTooLong>()("TraceTooLong", {
  member: Schema.String,
  metres: Schema.Int
}) {}

export class ProviderBusy extends Schema.TaggedError<ProviderBusy>()("ProviderBusy", {}) {}

export class ProviderNotConfigured extends Schema.TaggedError<ProviderNotConfigured>()("ProviderNotConfigured", {}) {}

/**
 * Failures of services for reasons that a caller can act on: facts, without texts and statuses of HTTP. `StaleVersion`
 * is not among them: its response needs the current `ETag`.
 */
export const DomainError = Schema.Union([
  Missing,
  RoutesMissing,
  QuotaExceeded,
  CollectionFull,
  TooManyWaiting,
  CursorExpired,
  DuplicateRoutes,
  TokenRefused,
  TooManyTokens,
  KeyInUse,
  KeyReused,
  HandleTaken,
  AddressTaken,
  NothingToCancel,
  OwnAccount,
  ImportRunning,
  AccountLeaving,
  WrongCredentials,
  WrongPassword,
  EmailUnverified,
  SignUpClosed,
  LinkUnusable,
  SignInRefused,
  ProviderDisabled,
  ProviderEmailUnverified,
  LinkedElsewhere,
  SpoolFull,
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
export type DomainError = typeof DomainError.Type
