import { Schema } from "effect"

export const Timestamp = Schema.String.annotate({ format: "date-time" })
