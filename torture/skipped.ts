import { Schema } from "effect"

/** The fault cannot be run on this machine, or not in this form. */
export class Skipped extends Schema.TaggedError<Skipped>()("Skipped", { reason: Schema.String }) {}
