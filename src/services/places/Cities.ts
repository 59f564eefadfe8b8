import { Effect, Schema } from "effect"
import { around } from "geokdbush"
import KDBush from "kdbush"
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/** The cities of the world as they travel from the process that reads them: lists are lines of one text. */
const PackedCities = Schema.Struct({
  index: Schema.instanceOf(Uint8Array),
  names: Schema.String,
  /** Country and first-order division of each city, `LI.11`. */
  divisions: Schema.String,
  regions: Schema.instanceOf(Map<string, string>)
})
export type PackedCities = typeof PackedCities.Type

/** A city, and the region of its country where that is known. */
interface City {
  readonly name: string
  readonly region: string | undefined
}

/** The cities of GeoNames (geonames.org, CC BY 4.0) with more than 1,000 inhabitants, or fewer where they matter. */
export interface Cities {
  /** The nearest city of a country within so many kilometres. */
  readonly nearestIn: (country: string, lng: number, lat: number, kilometres: number) => City | undefined
}

const unpack = (packed: PackedCities): Cities => {
  const index = KDBush.from(packed.index.slice().buffer)
  const names = packed.names.split("\n")
  const divisions = packed.divisions.split("\n")
  return {
    nearestIn: (country, lng, lat, kilometres) => {
      const isInCountry = (city: number) => divisions[city]?.startsWith(`${country}.`) ?? false
      const [city = -1] = around(index, lng, lat, 1, kilometres, isInCountry)
      const name = names[city]
      return name === undefined ? undefined : { name, region: packed.regions.get(divisions[city] ?? "") }
    }
  }
}

const READER = fileURLToPath(new URL("./CitiesReader.ts", import.meta.url))

/**
 * Reads the cities in a process of its own: parsing 17 MB would hold up requests for half a second, and the 100 MB that
 * parsing leaves behind end with the process.
 */
export const readCities = Effect.callback<unknown>((resume) => {
  const reader = fork(READER, {
    serialization: "advanced",
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
  reader.once("message", (packed) => resume(Effect.succeed(packed)))
  reader.once("error", (error) => resume(Effect.die(error)))
  reader.once("exit", (code) => resume(Effect.die(new Error(`the reader of the cities ended with ${code}`))))
  return Effect.sync(() => reader.kill())
}).pipe(
  Effect.flatMap(Schema.decodeUnknownEffect(PackedCities)),
  Effect.map(unpack),
  Effect.withSpan("Cities.read")
)
