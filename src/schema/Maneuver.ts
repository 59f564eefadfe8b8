import { Schema } from "effect"
import { MAX_POSITIONS } from "./Geometry.ts"
import { MAX_DISTANCE, MAX_DURATION, upTo } from "./Measures.ts"
import { named } from "./Named.ts"
import { isCodePointLength, WellFormedString } from "./Text.ts"

/** A route of 500 km through a city has fewer maneuvers. */
export const MAX_MANEUVERS = 5000

/** An instruction has at most this many code points. */
export const MAX_INSTRUCTION = 500

const MAX_TYPE = 255

/** A maneuver has the shape and the types of Valhalla, so that a computed one is stored as it is. */
export const Maneuver = Schema.Struct({
  instruction: WellFormedString.check(isCodePointLength(0, MAX_INSTRUCTION)).annotate({
    description: "What to do, for people"
  }),
  type: Schema.Int.check(upTo(MAX_TYPE)).annotate({
    description: "The kind of maneuver, by the numbers of Valhalla: 8 goes on, 10 turns right, 15 left, 4 arrives"
  }),
  begin_shape_index: Schema.Int.check(upTo(MAX_POSITIONS - 1)).annotate({
    description: "The index of its position in the line, from 0"
  }),
  length: Schema.Finite.check(upTo(MAX_DISTANCE / 1000)).annotate({ description: "Kilometres until the next one" }),
  time: Schema.Finite.check(upTo(MAX_DURATION)).annotate({ description: "Seconds until the next one" })
}).annotate(named("Maneuver", "Something to do on the way, such as a turn.", {
  instruction: "Turn right onto Landstrasse.",
  type: 10,
  begin_shape_index: 1,
  length: 0.612,
  time: 149.8
}))
export type Maneuver = typeof Maneuver.Type

export const Maneuvers = Schema.Array(Maneuver).check(Schema.isMaxLength(MAX_MANEUVERS))

/** Valhalla 3.9 has these locales. */
const LOCALES = [
  "ar-SA",
  "bg-BG",
  "ca-ES",
  "cs-CZ",
  "da-DK",
  "de-DE",
  "el-GR",
  "en-AU",
  "en-GB",
  "en-US",
  "es-ES",
  "et-EE",
  "fi-FI",
  "fr-FR",
  "he-IL",
  "hi-IN",
  "hu-HU",
  "it-IT",
  "ja-JP",
  "ko-KR",
  "mn-MN",
  "nb-NO",
  "nl-NL",
  "pl-PL",
  "pt-BR",
  "pt-PT",
  "ro-RO",
  "ru-RU",
  "sk-SK",
  "sl-SI",
  "sv-SE",
  "tr-TR",
  "uk-UA",
  "vi-VN"
] as const

const languageOf = (locale: string) => locale.slice(0, 2)

/** `en` and `pt` have several locales, of which the first one in this list counts. */
const PREFERRED = ["en-US", "pt-PT", ...LOCALES]

const LANGUAGES = [...LOCALES, ...new Set(LOCALES.map(languageOf))]

/** The engine would respond in English to a language that it does not know. */
export const Language = Schema.Literals(LANGUAGES).annotate({
  description: "The language of the instructions (BCP 47); `en-US` if absent"
})
export type Language = typeof Language.Type

export const localeOf = (language: Language): string =>
  PREFERRED.find((locale) => locale === language) ?? PREFERRED.find((locale) => languageOf(locale) === language)
    ?? "en-US"
