import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { brotliDecompressSync } from "node:zlib"
import { Places } from "../../src/services/geometry/Places.ts"
import { packedCities } from "../../tools/cities.ts"

/**
 * Each row has a position and where everybody says that it is; "-" is nowhere, "|" stands between two names that people
 * use. The last column says why a position is in another city here.
 */
const known = readFileSync(join(import.meta.dirname, "../support/knownPlaces.tsv"), "utf8").trim().split("\n").slice(1)
  .map(
    (line) => {
      const [lat = "", lng = "", country = "", city = "", position = "", missed] = line.split("\t")
      return { lat: Number(lat), lng: Number(lng), country, cities: city.split("|"), position, missed }
    }
  )

layer(Places.layer)("known places", (it) => {
  it.effect("positions all over the world are in the cities that people name", () =>
    Effect.gen(function*() {
      assert.isAbove(known.filter(({ missed }) => missed === undefined).length, 300)
      const wrong = yield* Effect.forEach(known, ({ cities, country, lat, lng, missed, position }) =>
        Places.use((places) =>
          places.at([lng, lat])
        ).pipe(
          Effect.map(({ placeCity = "-", placeCountryCode = "-" }) =>
            (cities.includes(placeCity) && placeCountryCode === country) === (missed === undefined)
              ? []
              : [`${position} ${lat},${lng}: ${placeCity} ${placeCountryCode}, not ${cities.join("|")} ${country}`]
          )
        ))
      assert.deepStrictEqual(wrong.flat(), [])
    }))

  it("the cities that the service reads are those of the packages", () => {
    const file = readFileSync(join(import.meta.dirname, "../../src/services/geometry/cities.bin.br"))
    assert.isTrue(brotliDecompressSync(file).equals(packedCities()), "run `npm run cities`")
  })
})
