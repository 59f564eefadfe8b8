import { Schema } from "effect"

export const Timestamp = Schema.String.annotate({ format: "date-time" })

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

export const Instant = Schema.String.annotate({ format: "date-time" }).check(
  Schema.makeFilter((text) => INSTANT.test(text) && !Number.isNaN(Date.parse(text)), {
    expected: "an instant with its offset from UTC (RFC 3339)",
    toJsonSchema: () => ({ pattern: INSTANT.source })
  })
)
