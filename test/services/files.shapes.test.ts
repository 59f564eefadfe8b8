import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { roundOf } from "../support/FileRounds.ts"
import { fileShapes } from "../support/FileShapes.ts"

describe("files as programs and devices write them", () => {
  it.live("are read whole, and exported as valid files that read back as the same route", () =>
    Effect.gen(function*() {
      for (const [name, { bytes, positions, tracks }] of yield* fileShapes) {
        const round = yield* roundOf(bytes, name, undefined)
        assert.deepInclude(round, { tracks, positions }, name)
        for (const { format, isSameAgain, validity } of round.exports) {
          const expected = format === "tcx" || format === "kml" ? "no schema" : "valid"
          assert.deepStrictEqual([validity, isSameAgain], [expected, true], `${name} as ${format}`)
        }
      }
    }), 60_000)
})
