import type { Duration } from "effect"
import { inUnits } from "../../schema/Limits.ts"
import type { Language } from "../operations/SettingTypes.ts"

/** Formatters of `Intl` would take 40 ms of the start. */
const lazily = <A>(make: () => A): () => A => {
  let made: A | undefined
  return () => made ??= make()
}

/** Numbers, counts and dates are as a language writes them. Dates are those of UTC. */
export const wordingIn = (language: Language) => {
  // Nobody reads `-0`.
  const formatOf = (digits: 0 | 1) =>
    lazily(() =>
      new Intl.NumberFormat(language, {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
        signDisplay: "negative"
      })
    )
  const whole = formatOf(0)
  const tenths = formatOf(1)
  const plurals = lazily(() => new Intl.PluralRules(language))
  const dates = lazily(() => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: "UTC" }))
  const times = lazily(() =>
    new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23", timeZone: "UTC" })
  )
  const countries = lazily(() => new Intl.DisplayNames(language, { type: "region" }))
  const number = (value: number, digits: 0 | 1 = 0): string => (digits === 0 ? whole() : tenths()).format(value)
  return {
    number,
    /** Writes `1 route`, `1,000 routes`. */
    counted: (count: number, one: string, other: string): string =>
      `${number(count)} ${plurals().select(count) === "one" ? one : other}`,
    date: (instant: string | Date): string => dates().format(new Date(instant)),
    time: (instant: string | Date): string => `${times().format(new Date(instant))} UTC`,
    /** Writes the largest unit that occurs at least twice: `24 hours`. */
    duration: (duration: Duration.Duration): string => {
      const { count, unit } = inUnits(duration)
      return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(count)
    },
    country: (code: string): string => countries().of(code) ?? code
  }
}
