import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { compared } from "../support/FileExpectations.ts"
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
    }))

  it.live("are read as their expectations say, where others refuse them or something in them is wrong", () =>
    Effect.gen(function*() {
      for (const { file, problems } of yield* compared(join(import.meta.dirname, "../support/cases"))) {
        assert.deepStrictEqual(problems, [], file)
      }
    }))
})
