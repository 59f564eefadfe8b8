import { Context, Effect, Fiber, Layer } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Route.ts"
import { traced } from "../operations/Tracing.ts"
import { type Cities, readCities } from "./Cities.ts"

const MAX_KILOMETRES = 50

export class Places extends Context.Service<Places, {
  /** Finds the nearest city of the country within 50 km, its region, and the country. Empty at sea. */
  readonly at: (position: Position) => Effect.Effect<Place>
  readonly hasCities: Effect.Effect<boolean>
}>()("route-planning-service/Places") {
  /** The data loads during the start; calls wait for it. */
  static readonly layer = Layer.effect(
    Places,
    Effect.gen(function*() {
      const loading = yield* Effect.forkScoped(load)
      const coder = yield* Effect.cached(countryCoder)
      return Places.of({
        at: traced("Places.at")(function*(position) {
          const cities = yield* Fiber.join(loading)
          return placeAt(cities, yield* coder, position)
        }),
        hasCities: Effect.map(Fiber.join(loading), (cities) => cities !== NONE)
      })
    })
  )
}

/** The package builds its index of all borders when it is imported: 50 ms, which a start does not wait for. */
const countryCoder = Effect.promise(() => import("@rapideditor/country-coder"))

type CountryCoder = Effect.Success<typeof countryCoder>

const NONE: Cities = { cityAt: () => undefined }

/** A broken file is logged and fails no request: routes are stored without places. */
const load: Effect.Effect<Cities> = readCities.pipe(
  Effect.catchCause((cause) => Effect.as(Effect.logError("places not loaded", cause), NONE))
)

const RESERVED: Readonly<Record<string, string>> = { AC: "SH", CP: "FR", DG: "IO", EA: "ES", IC: "ES", TA: "SH" }

const placeAt = (cities: Cities, { iso1A2Code }: CountryCoder, [lng, lat]: Position): Place => {
  // Territories with a code of their own (Puerto Rico, Réunion) are countries in GeoNames and ISO 3166-1.
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
