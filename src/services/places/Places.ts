import { iso1A2Code } from "@rapideditor/country-coder"
import { Context, Effect, Fiber, Layer } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Place.ts"
import { type Cities, readCities } from "./Cities.ts"

/** A route that starts further than this from every city of its country is in none. */
const MAX_KILOMETRES = 50

/** Where in the world a position is, without asking anybody: cities by GeoNames, countries by their borders. */
export class Places extends Context.Service<Places, {
  /** The nearest city within 50 km in the country of a position, its region, and the country. At sea it is empty. */
  readonly at: (position: Position) => Effect.Effect<Place>
}>()("route-planning-service/Places") {
  /** Begins to load beside the start of the service; who asks before it is done waits. */
  static readonly layer = Layer.effect(
    Places,
    Effect.gen(function*() {
      const loading = yield* Effect.forkScoped(load)
      return Places.of({
        at: Effect.fn("Places.at")((position) => Effect.map(Fiber.join(loading), (cities) => placeAt(cities, position)))
      })
    })
  )
}

const NONE: Cities = { nearestIn: () => undefined }

/** Routes are worth storing without their places, so a broken file is told to the operator and to nobody else. */
const load: Effect.Effect<Cities> = readCities.pipe(
  Effect.catchCause((cause) => Effect.as(Effect.logError("places cannot be loaded", cause), NONE))
)

const placeAt = (cities: Cities, [lng, lat]: Position): Place => {
  // GeoNames counts territories with a code of their own (Puerto Rico, Réunion) as countries, and so does ISO 3166-1.
  const country = iso1A2Code([lng, lat], { level: "territory" })
  if (country === null) return {}
  const city = cities.nearestIn(country, lng, lat, MAX_KILOMETRES)
  return {
    ...(city === undefined ? {} : { placeCity: city.name }),
    ...(city?.region === undefined ? {} : { placeRegion: city.region }),
    placeCountryCode: country
  }
}
