import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { around, distance } from "geokdbush"
import KDBush from "kdbush"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { brotliDecompress } from "node:zlib"
import type { Position } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Route.ts"

/** Increase this version with each change of the rule or the data: the sweep derives earlier routes again. */
export const PLACES_VERSION = 1

interface City {
  readonly name: string
  readonly region: string | undefined
}

/** The cities are from GeoNames (geonames.org, CC BY 4.0), without sections of towns. */
interface Cities {
  readonly cityAt: (country: string, lng: number, lat: number, kilometres: number) => City | undefined
}

export const RADIUS_UNITS = 100

const LEAST_POPULATION = 1000

/** Returns the radius in kilometres, 0.6 for 1,000 inhabitants and 22 for 8 million: large cities are denser. */
export const radiusOf = (population: number): number => 0.0377 * Math.max(population, LEAST_POPULATION) ** 0.4

/** Smaller distances mean nothing: a centre is a point of the map, not of the town. */
const CENTRE_KILOMETRES = 0.5

/**
 * The lowest score wins. It is the kilometres to the circle of the city outside of it, so that a large city does not
 * include the villages around it. Inside, where they are negative, it is their share of the radius, so that a suburb
 * wins in its middle and a large city 5 km from its own.
 */
const scoreOf = (kilometres: number, radius: number): number => {
  const beyond = kilometres + CENTRE_KILOMETRES - radius
  return beyond <= 0 ? beyond / radius : beyond
}

const Divisions = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ country: Schema.String, region: Schema.optionalKey(Schema.String) }))
)

const NEWLINE = 10

const lineStarts = (text: Buffer, count: number): Uint32Array => {
  let next = 0
  return new Uint32Array(count).map(() => {
    const start = next
    next = text.indexOf(NEWLINE, start) + 1
    return start
  })
}

/**
 * `npm run cities` writes the lengths of the sections (32 bits, little-endian), then the index of positions, radii and
 * divisions (16 bits each), divisions as JSON, and names by line. Sections are copied, since typed arrays need their
 * alignment.
 */
const sectionsOf = (file: Buffer) => {
  let header = 0
  let end = 20
  const next = () => {
    const start = end
    end += file.readUInt32LE(header)
    header += 4
    return new Uint8Array(file.subarray(start, end)).buffer
  }
  return {
    index: KDBush.from(next()),
    radii: new Uint16Array(next()),
    divisionOf: new Uint16Array(next()),
    divisions: Buffer.from(next()).toString(),
    names: Buffer.from(next())
  }
}

// Typed arrays and one text are small: 167,000 strings and objects would take three times the memory.
const unpack = Effect.fnUntraced(function*(file: Buffer) {
  const { divisionOf, divisions: json, index, names, radii } = sectionsOf(file)
  const divisions = yield* Schema.decodeUnknownEffect(Divisions)(json)
  const starts = lineStarts(names, radii.length)
  const divisionAt = (city: number) => divisions[divisionOf[city] ?? -1]
  const scoreAt = (city: number, lng: number, lat: number) => {
    const [cityLng = Number.NaN, cityLat = Number.NaN] = [index.coords[2 * city], index.coords[2 * city + 1]]
    return scoreOf(distance(lng, lat, cityLng, cityLat), (radii[city] ?? Number.NaN) / RADIUS_UNITS)
  }

  const cityAt: Cities["cityAt"] = (country, lng, lat, kilometres) => {
    const near = around(index, lng, lat, Infinity, kilometres, (city) => divisionAt(city)?.country === country)
    const [best] = near.map((city) => ({ city, score: scoreAt(city, lng, lat) })).toSorted((a, b) => a.score - b.score)
    if (best === undefined) return undefined
    const start = starts[best.city]
    return { name: names.toString("utf8", start, names.indexOf(NEWLINE, start)), region: divisionAt(best.city)?.region }
  }
  return { cityAt }
})

const FILE = new URL("./cities.bin.br", import.meta.url)

const readCities: Effect.Effect<Cities, unknown> = Effect.tryPromise(() => readFile(FILE)).pipe(
  Effect.flatMap((file) => Effect.tryPromise(() => promisify(brotliDecompress)(file))),
  Effect.flatMap(unpack)
)

const MAX_KILOMETRES = 50

export class Places extends Context.Service<Places, {
  /** Finds the nearest city of the country within 50 km, its region, and the country. The place is empty at sea. */
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
        at: Effect.fnUntraced(function*(position) {
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
