import { Schema } from "effect"

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
