import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { distance } from "geokdbush"
import KDBush from "kdbush"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { brotliDecompress } from "node:zlib"
import { MAX_LONGITUDE, type Position } from "../../schema/Geometry.ts"
import type { Place } from "../../schema/Route.ts"
import { FULL_TURN } from "./Geodesy.ts"

/** Increase this version with each change of the rule or the data: the sweep derives earlier routes again. */
export const PLACES_VERSION = 1

interface City {
  readonly name: string
  readonly region: string | undefined
}

/** The cities are from GeoNames (geonames.org, CC BY 4.0), without sections of towns. */
type CityAt = (country: string, lng: number, lat: number) => City | undefined

export const RADIUS_UNITS = 100

const LEAST_POPULATION = 1000

/** Returns the radius in kilometres, 0.6 for 1,000 inhabitants and 22 for 8 million: large cities are denser. */
export const radiusOf = (population: number): number => 0.0377 * Math.max(population, LEAST_POPULATION) ** 0.4

/** Smaller distances mean nothing: a centre is a point of the map, not of the town. */
const CENTRE_KILOMETRES = 0.5

/**
 * The lowest score wins. Inside a city it is the share of the radius, so that a suburb wins in its middle and a large
 * city 5 km from its own. Outside it is 1 plus the kilometres to the circle, so that a large city does not include the
 * villages around it.
 */
const scoreOf = (kilometres: number, radius: number): number => {
  const beyond = kilometres + CENTRE_KILOMETRES - radius
  return beyond <= 0 ? 1 + beyond / radius : 1 + beyond
}

type Box = readonly [west: number, south: number, east: number, north: number]

const KILOMETRES_OF_A_DEGREE = 111.19

/** A city is at most this far away. */
const MAX_KILOMETRES = 50

const boxesAround = (lng: number, lat: number): ReadonlyArray<Box> => {
  const height = MAX_KILOMETRES / KILOMETRES_OF_A_DEGREE
  const south = lat - height
  const north = lat + height
  const shrunk = Math.cos(Math.max(Math.abs(south), Math.abs(north)) * Math.PI / 180)
  const width = shrunk <= 0 ? MAX_LONGITUDE : Math.min(MAX_LONGITUDE, height / shrunk)
  return [lng, lng - FULL_TURN, lng + FULL_TURN]
    .filter((middle) => Math.abs(middle) - width <= MAX_LONGITUDE)
    .map((middle) => [middle - width, south, middle + width, north])
}

const Divisions = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ country: Schema.String, region: Schema.optionalKey(Schema.String) }))
)

const NEWLINE = 10

const lineStarts = (text: Buffer, count: number): Uint32Array => {
  const starts = new Uint32Array(count)
  for (const line of starts.keys()) {
    if (line > 0) starts[line] = text.indexOf(NEWLINE, starts[line - 1]) + 1
  }
  return starts
}

/**
 * `npm run cities` writes the lengths of the sections (32 bits, little-endian), then the index of positions, radii and
 * divisions (16 bits each), divisions as JSON, and names by line. Sections are copied, since typed arrays need their
 * alignment.
 */
const sectionsOf = (file: Buffer) => {
  const lengths = [0, 4, 8, 12, 16].map((at) => file.readUInt32LE(at))
  const section = (number: number) => {
    const start = lengths.slice(0, number).reduce((sum, length) => sum + length, lengths.length * 4)
    return new Uint8Array(file.subarray(start, start + (lengths[number] ?? 0))).buffer
  }
  return {
    index: KDBush.from(section(0)),
    radii: new Uint16Array(section(1)),
    divisionOf: new Uint16Array(section(2)),
    divisions: Buffer.from(section(3)).toString(),
    names: Buffer.from(section(4))
  }
}

// Typed arrays and one text are small: 167,000 strings and objects would take three times the memory.
const unpack = Effect.fnUntraced(function*(file: Buffer) {
  const { divisionOf, divisions: json, index, names, radii } = sectionsOf(file)
  const divisions = yield* Schema.decodeUnknownEffect(Divisions)(json)
  const starts = lineStarts(names, radii.length)
  const scoreAt = (city: number, lng: number, lat: number) => {
    const away = distance(lng, lat, index.coords[city * 2] ?? 0, index.coords[city * 2 + 1] ?? 0)
    return away > MAX_KILOMETRES ? Infinity : scoreOf(away, (radii[city] ?? 0) / RADIUS_UNITS)
  }

  const cityAt: CityAt = (country, lng, lat) => {
    const best = { city: -1, score: Infinity }
    for (const box of boxesAround(lng, lat)) {
      for (const city of index.range(...box)) {
        if (divisions[divisionOf[city] ?? -1]?.country !== country) continue
        const score = scoreAt(city, lng, lat)
        if (score < best.score) Object.assign(best, { city, score })
      }
    }
    if (best.city < 0) return undefined
    const start = starts[best.city]
    return {
      name: names.toString("utf8", start, names.indexOf(NEWLINE, start)),
      region: divisions[divisionOf[best.city] ?? -1]?.region
    }
  }
  return cityAt
})

const FILE = new URL("./cities.bin.br", import.meta.url)

const readCities: Effect.Effect<CityAt, unknown> = Effect.tryPromise(() => readFile(FILE)).pipe(
  Effect.flatMap((file) => Effect.tryPromise(() => promisify(brotliDecompress)(file))),
  Effect.flatMap(unpack)
)

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
          return placeAt(yield* Fiber.join(loading), yield* coder, position)
        }),
        hasCities: Effect.map(Fiber.join(loading), (cityAt) => cityAt !== noCities)
      })
    })
  )
}

/** The package builds its index of all borders when it is imported: 50 ms, which a start does not wait for. */
const countryCoder = Effect.promise(() => import("@rapideditor/country-coder"))

type CountryCoder = Effect.Success<typeof countryCoder>

const noCities: CityAt = () => undefined

/** A broken file is logged and fails no request: routes are stored without places. */
const load: Effect.Effect<CityAt> = readCities.pipe(
  Effect.catchCause((cause) => Effect.as(Effect.logError("places not loaded", cause), noCities))
)

const RESERVED: Readonly<Record<string, string>> = { AC: "SH", CP: "FR", DG: "IO", EA: "ES", IC: "ES", TA: "SH" }

const placeAt = (cityAt: CityAt, { iso1A2Code }: CountryCoder, [lng, lat]: Position): Place => {
  // Territories with a code of their own (Puerto Rico, Réunion) are countries in GeoNames and ISO 3166-1.
  const code = iso1A2Code([lng, lat], { level: "territory" })
  if (code === null) return {}
  const country = RESERVED[code] ?? code
  const city = cityAt(country, lng, lat)
  return {
    ...(city === undefined ? {} : { placeCity: city.name }),
    ...(city?.region === undefined ? {} : { placeRegion: city.region }),
    placeCountryCode: country
  }
}
