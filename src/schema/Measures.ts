import { Schema, SchemaTransformation } from "effect"

export const Metres = Schema.Finite.annotate({ description: "Metres" })
export const Kilometres = Schema.Finite.annotate({ description: "Kilometres" })
export const Seconds = Schema.Finite.annotate({ description: "Seconds" })

export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const upTo = (maximum: number) => Schema.isBetween({ minimum: 0, maximum })

/** Longer measured distances, more than 2,500 times around the Earth, are cut to this. */
export const MAX_DISTANCE = 100_000_000

export const MAX_DURATION = 100_000_000

export const Timestamp = Schema.String.annotate({ format: "date-time" })

export const CreatedAt = Timestamp.annotate({ description: "When it was made" })

export const UpdatedAt = Timestamp.annotate({ description: "When it was last changed" })

/** PostgreSQL takes neither a year 0 nor an offset of 16 hours. */
const INSTANT =
  /^(\d{3}[1-9]|\d\d[1-9]0|\d[1-9]00|[1-9]000)-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-](0\d|1[0-5]):\d\d)$/

/** Takes a text that begins with `YYYY-MM-DD`. A parsed 30 February is one of March. */
export const isDay = (text: string): boolean => new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10))

/** With its offset an instant of the last day of 9999 may be one of a year that needs a sign. */
const hasFourDigits = (text: string) => new Date(text).getUTCFullYear() < 10_000

const isInstant = (text: string) =>
  INSTANT.test(text) && !Number.isNaN(Date.parse(text)) && isDay(text) && hasFourDigits(text)

export const Instant = Schema.String.annotate({ format: "date-time" }).check(
  Schema.makeFilter(isInstant, {
    expected: "an instant with its offset from UTC (RFC 3339), such as 2026-06-01T08:00:00Z",
    toJsonSchema: () => ({ pattern: INSTANT.source })
  })
)

/** Devices without a clock name the epoch of their system; satellites have sent the time since 1980. */
const RECORDED = /^(?:19[89]|20\d|21\d)/

/** Returns in UTC, with milliseconds, when something was recorded; undefined if no device can have recorded it then. */
export const recordedAtOf = (milliseconds: number): string | undefined => {
  const text = Number.isFinite(new Date(milliseconds).getTime()) ? new Date(milliseconds).toISOString() : ""
  return RECORDED.test(text) ? text : undefined
}

export const RECORDED_AT = "When the recording began that it was made of, for its owner; instants from 1980 to 2199"

/** The instant is stored and returned in UTC with milliseconds. */
export const RecordedAt = Instant.annotate({ description: RECORDED_AT }).check(
  Schema.makeFilter((text) => recordedAtOf(Date.parse(text)) !== undefined, {
    expected: "an instant of the years 1980 to 2199"
  })
).pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transform({ decode: (text) => new Date(text).toISOString(), encode: (text) => text })
  )
)
