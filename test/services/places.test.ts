import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Position } from "../../src/schema/Geometry.ts"
import { Places } from "../../src/services/geometry/Places.ts"

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

  it.effect("far from every city only the country is known, at sea nothing", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* at(-40, 75), { placeCountryCode: "GL" })
      assert.deepStrictEqual(yield* at(0, 0), {})
    }))

  it.effect("the edges of the world are positions too", () =>
    Effect.forEach(
      [[180, 0], [-180, 0], [0, 90], [0, -90], [180, 90], [-180, -90]] as const,
      ([lng, lat]) => Effect.map(at(lng, lat, 12.5), (place) => assert.isObject(place))
    ))
})
