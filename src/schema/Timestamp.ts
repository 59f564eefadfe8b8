import { Schema } from "effect"

export const Timestamp = Schema.String.annotate({ format: "date-time" })

export const CreatedAt = Timestamp.annotate({ description: "When it was made" })

export const UpdatedAt = Timestamp.annotate({ description: "When it was last changed" })

/** PostgreSQL takes neither a year 0 nor an offset of 16 hours. */
const INSTANT =
  /^(\d{3}[1-9]|\d\d[1-9]0|\d[1-9]00|[1-9]000)-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-](0\d|1[0-5]):\d\d)$/

/** A parsed 30 February is one of March. */
const isDay = (date: string) => new Date(date).toISOString().startsWith(date)

const isInstant = (text: string) =>
  INSTANT.test(text) && !Number.isNaN(Date.parse(text)) && isDay(text.slice(0, "YYYY-MM-DD".length))

export const Instant = Schema.String.annotate({ format: "date-time" }).check(
  Schema.makeFilter(isInstant, {
    expected: "an instant with its offset from UTC (RFC 3339)",
    toJsonSchema: () => ({ pattern: INSTANT.source })
  })
)
