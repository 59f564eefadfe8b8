import { iso1A2Code } from "@rapideditor/country-coder"
import { Context, Effect, Fiber, Layer } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Place.ts"
import { type Cities, readCities } from "./Cities.ts"

/** A route that starts further than this from every city of its country is in none. */
const MAX_KILOMETRES = 50

/**
 * Where in the world a position is, without a call to another service: cities by GeoNames, countries by their borders.
 */
export class Places extends Context.Service<Places, {
  /**
   * The city that a position lies in or beside, with its centre within 50 km and in the position's country, the city's
   * region, and the country. At sea it is empty.
   */
  readonly at: (position: Position) => Effect.Effect<Place>
  /** Whether the cities could be loaded; without them `at` knows countries only. */
  readonly hasCities: Effect.Effect<boolean>
}>()("route-planning-service/Places") {
  /** Begins to load beside the start of the service; who asks before it is done waits. */
  static readonly layer = Layer.effect(
    Places,
    Effect.gen(function*() {
      const loading = yield* Effect.forkScoped(load)
      return Places.of({
        at: Effect.fn("Places.at")((position) =>
          Effect.map(Fiber.join(loading), (cities) => placeAt(cities, position))
        ),
        hasCities: Effect.map(Fiber.join(loading), (cities) => cities !== NONE)
      })
    })
  )
}

const NONE: Cities = { cityAt: () => undefined }

/** Routes are worth storing without their places, so a broken file is logged, and fails no request. */
const load: Effect.Effect<Cities> = readCities.pipe(
  Effect.catchCause((cause) => Effect.as(Effect.logError("places cannot be loaded", cause), NONE))
)

/** Reserved codes that are no countries of ISO 3166-1, and the country that ISO counts them to. */
const RESERVED: Readonly<Record<string, string>> = { AC: "SH", CP: "FR", DG: "IO", EA: "ES", IC: "ES", TA: "SH" }

const placeAt = (cities: Cities, [lng, lat]: Position): Place => {
  // GeoNames counts territories with a code of their own (Puerto Rico, Réunion) as countries, and so does ISO 3166-1.
  const code = iso1A2Code([lng, lat], { level: "territory" })
  if (code === null) return {}
  const country = RESERVED[code] ?? code
  const city = cities.cityAt(country, lng, lat, MAX_KILOMETRES)
  return {
    ...(city === undefined ? {} : { placeCity: city.name }),
    ...(city?.region === undefined ? {} : { placeRegion: city.region }),
    placeCountryCode: country
  }
}
