import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Principal } from "../../../schema/Principal.ts"
import { Profiles } from "../../../services/accounts/Profile.ts"
import type { Texts } from "../../../services/texts/Texts.ts"

const UNITS = ["metric", "imperial"] as const

export type Units = typeof UNITS[number]

const unitsNamed = (name: string | null | undefined): Units | undefined => UNITS.find((units) => units === name)

/** Roads are signed in miles in these countries. */
const MILES = /^[a-z]{2,3}-(?:[a-z]{4}-)?(?:us|gb|lr|mm)$/i

/** The first language decides: browsers send the most preferred one first. */
const unitsOfLanguage = (languages: string | undefined): Units =>
  MILES.test(languages?.split(/[,;]/)[0]?.trim() ?? "") ? "imperial" : "metric"

/** The address of the page decides on the units of its reader, else the account, else `Accept-Language`. */
export const makeReaderUnits = Effect.map(
  Profiles,
  (profiles) =>
    Effect.fnUntraced(function*(
      query: URLSearchParams,
      { headers }: HttpServerRequest.HttpServerRequest,
      principal: Option.Option<Principal>
    ) {
      const chosen = unitsNamed(query.get("units"))
      if (chosen !== undefined) return chosen
      const { preferences } = Option.isSome(principal) ? yield* profiles.user(principal.value.userId) : {}
      return unitsNamed(preferences?.units) ?? unitsOfLanguage(headers["accept-language"])
    })
)

const METRES_OF_MILE = 1609.344
const METRES_OF_FOOT = 0.3048

interface System {
  readonly long: { readonly metres: number; readonly name: string }
  readonly short: { readonly metres: number; readonly name: string }
}

/** A short length is one of heights, and of distances below the first long one. */
export const SYSTEMS: Readonly<Record<Units, System>> = {
  metric: { long: { metres: 1000, name: "km" }, short: { metres: 1, name: "m" } },
  imperial: { long: { metres: METRES_OF_MILE, name: "mi" }, short: { metres: METRES_OF_FOOT, name: "ft" } }
}

export const heightText = (metres: number, { wording }: Texts, units: Units): string => {
  const { short } = SYSTEMS[units]
  return `${wording.number(metres / short.metres)} ${short.name}`
}

/** Lengths along a route read in one unit from its start to its end. */
export const alongText = (metres: number, { wording }: Texts, units: Units): string => {
  const { long } = SYSTEMS[units]
  return `${wording.number(metres / long.metres, 1)} ${long.name}`
}

export const distanceText = (metres: number, texts: Texts, units: Units): string => {
  const { long } = SYSTEMS[units]
  return metres < long.metres
    ? heightText(metres, texts, units)
    : `${texts.wording.number(metres / long.metres, metres < 100 * long.metres ? 1 : 0)} ${long.name}`
}
