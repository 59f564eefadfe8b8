import { Schema } from "effect"

/** A worker's message to its primary. */
export const Serving = Schema.TaggedStruct("Serving", {})
