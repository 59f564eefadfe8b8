import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Position } from "../../src/schema/Geometry.ts"
import { Places, radiusOf } from "../../src/services/geometry/Places.ts"

const at = (...position: Position) => Places.use((places) => places.at(position))

layer(Places.layer)("places", (it) => {
  it.effect("a position in a town has its city, region and country", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* at(9.5209, 47.1415), {
        placeCity: "Vaduz",
        placeRegion: "Vaduz",
        placeCountryCode: "LI"
      })
      assert.deepStrictEqual(yield* at(2.3488, 48.8534), {
        placeCity: "Paris",
        placeRegion: "Île-de-France",
        placeCountryCode: "FR"
      })
    }))

  it.effect("the city is one of the position's own country, even if another is nearer", () =>
    Effect.gen(function*() {
      const acrossTheRhine = yield* at(9.4975, 47.1415)
      assert.strictEqual(acrossTheRhine.placeCountryCode, "CH")
      assert.strictEqual(acrossTheRhine.placeRegion, "Saint Gallen")
    }))

  it.effect("territories with a code of their own are countries", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* at(55.45, -20.9)).placeCountryCode, "RE")
      assert.strictEqual((yield* at(-66.1, 18.4)).placeCountryCode, "PR")
    }))

  it.effect("the city is the nearest one to a position outside of all, measured from their edges, up to 50 km", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* at(-4.69, 41.7)).placeCity, "Santovenia de Pisuerga")
      assert.strictEqual((yield* at(4.89, 60.47)).placeCity, "Ågotnes")
      // Yemetsk is 50.9 km away.
      assert.deepStrictEqual(yield* at(42.5, 63.8), { placeCountryCode: "RU" })
    }))

  it("a city is as large as its population says, from 1,000 inhabitants on", () => {
    assert.closeTo(radiusOf(1000), 0.6, 0.01)
    assert.closeTo(radiusOf(8_000_000), 21.7, 0.1)
    assert.strictEqual(radiusOf(0), radiusOf(1000))
    assert.isAbove(radiusOf(1001), radiusOf(1000))
  })

  it.effect("far from every city only the country is known, at sea nothing", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* at(-40, 75), { placeCountryCode: "GL" })
      assert.deepStrictEqual(yield* at(0, 0), {})
    }))

  it.effect("a city beside the antimeridian has its name, and the cities are loaded", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* at(-176.56, -43.9535), {
        placeCity: "Waitangi",
        placeRegion: "Chatham Islands",
        placeCountryCode: "NZ"
      })
      assert.isTrue(yield* Places.use(({ hasCities }) => hasCities))
    }))

  it.effect("the edges of the world are positions too", () =>
    Effect.forEach(
      [[180, 0], [-180, 0], [0, 90], [0, -90], [180, 90], [-180, -90]] as const,
      ([lng, lat]) => Effect.map(at(lng, lat, 12.5), (place) => assert.isObject(place))
    ))
})
