import { Schema } from "effect"

/** An instant as it travels: ISO 8601, UTC, with milliseconds. */
export const Timestamp = Schema.String.annotate({ format: "date-time" })
