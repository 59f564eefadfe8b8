import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { jsonArray } from "../../src/http/response/RouteJson.ts"
import { encoded } from "../../src/services/json/JsonText.ts"

/** One in so many characters, or all, take more bytes than one. */
const TEXTS = ["é", "日本", "🚲", "\ud800", "a🚲", "abc".repeat(10) + "é", "plain"]

const texts = fc.array(
  fc.tuple(fc.constantFrom(...TEXTS), fc.integer({ min: 0, max: 2000 })).map(([text, times]) => text.repeat(times))
)

describe("JSON in parts", () => {
  it("is encoded whole, whatever its characters take", () => {
    fc.assert(fc.property(fc.oneof(texts, fc.array(fc.string({ unit: "grapheme" }))), (parts) => {
      assert.deepStrictEqual(encoded(parts).toString("hex"), Buffer.from(parts.join("")).toString("hex"))
    }))
  })

  it.effect("is encoded whole in an array, in one slice and in several", () =>
    Effect.gen(function*() {
      for (const text of TEXTS) {
        for (const length of [10, 600_000]) {
          const item = JSON.stringify(text.repeat(Math.ceil(length / text.length)))
          const bytes = yield* jsonArray([1, 2, 3, 4], () => [item], { before: "{\"items\":", after: "}" })
          const expected = Buffer.from(`{"items":[${item},${item},${item},${item}]}`)
          assert.isTrue(bytes.equals(expected), `${text.slice(0, 5)}, ${length} characters`)
        }
      }
    }))
})
