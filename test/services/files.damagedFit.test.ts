import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { FitBaseType, FitEncoder, type FitEncoderField } from "fit-file-parser/encoder"
import { packedRoutes } from "../support/Files.ts"
import { byte, degrees, START, uint32 } from "../support/FitFields.ts"

const [RECORD, SESSION, COURSE, LAP] = [20, 18, 31, 19]

const recorded = (seconds: ReadonlyArray<number>, sessions: ReadonlyArray<ReadonlyArray<FitEncoderField>> = []) => {
  const encoder = new FitEncoder()
  for (const [index, second] of seconds.entries()) {
    encoder.writeMessage(RECORD, [uint32(253, START + second), degrees(0, 46 + index / 1000), degrees(1, 9)])
  }
  for (const session of sessions) encoder.writeMessage(SESSION, [...session])
  return encoder.close()
}

describe("a FIT file", () => {
  const times = Array.from({ length: 12 }, (_, index) => 10 * index)

  const positionsOf = (bytes: Uint8Array) =>
    Effect.map(packedRoutes(bytes), ([route]) => ({
      positions: route?.document.geometry.length,
      dropped: route?.dropped.map(({ why }) => why) ?? []
    }))

  it.effect("with a wrong or missing checksum, or that was not closed, is read with a warning", () =>
    Effect.gen(function*() {
      const bytes = recorded(times)
      const wrong = Uint8Array.from(bytes, (byte, index) => index === bytes.length - 1 ? byte ^ 1 : byte)
      const unclosed = Uint8Array.from(bytes, (byte, index) => index >= 4 && index < 8 ? 0 : byte)
      for (
        const [damaged, why] of [
          [wrong, /checksum/],
          [bytes.slice(0, -2), /checksum/],
          [unclosed, /not closed/],
          [unclosed.slice(0, -2), /not closed/]
        ] as const
      ) {
        const { dropped, positions } = yield* positionsOf(damaged)
        assert.strictEqual(positions, 12)
        assert.match(dropped.join(), why)
      }
    }))

  it.effect("that ends early gives what is there of it, and says so", () =>
    Effect.gen(function*() {
      const bytes = recorded(times)
      const { dropped, positions } = yield* positionsOf(bytes.slice(0, bytes.length - 30))
      assert.strictEqual(positions, 9)
      assert.match(dropped.join(), /ends early/)
    }))

  it.effect("of several sessions has a track of each, with its sport and its timer", () =>
    Effect.gen(function*() {
      const session = (start: number, timer: number, sport: number) => [
        uint32(253, START + 200),
        uint32(2, START + start),
        uint32(8, 1000 * timer),
        byte(5, sport)
      ]
      const routes = yield* packedRoutes(recorded(times, [session(0, 41, 2), session(60, 42, 1), session(500, 9, 1)]))
      assert.deepStrictEqual(
        routes.map(({ document, measures }) => [
          document.activity,
          document.geometry.length,
          measures.duration
        ]),
        [["cycle", 6, 41], ["run", 6, 42]]
      )
      const unstarted = (end: number, sport: number) => [uint32(253, START + end), byte(5, sport)]
      const ended = yield* packedRoutes(recorded(times, [unstarted(50, 2), unstarted(120, 1)]))
      assert.deepStrictEqual(ended.map(({ document }) => [document.activity, document.geometry.length]), [
        ["cycle", 6],
        ["run", 6]
      ])
    }))

  it.effect("has the duration of its timer, else of its records without those that are impossible", () =>
    Effect.gen(function*() {
      const durationOf = (bytes: Uint8Array) => Effect.map(packedRoutes(bytes), ([route]) => route?.measures.duration)
      assert.strictEqual(yield* durationOf(recorded(times, [[uint32(2, START), uint32(8, 99_000)]])), 99)
      assert.strictEqual(yield* durationOf(recorded(times, [[uint32(2, START), uint32(8, 0)]])), 110)
      assert.strictEqual(yield* durationOf(recorded([...times, 15])), 110)
      assert.strictEqual(yield* durationOf(recorded([-400_000, ...times])), 110)
      assert.strictEqual(yield* durationOf(recorded([...times, 90_000_000])), 110)
      const long = Array.from({ length: 40 }, (_, index) => index)
      assert.strictEqual(yield* durationOf(recorded([-90_000_001, -90_000_000, ...long, 90_000_000, 90_000_005])), 39)
      assert.isUndefined(yield* durationOf(recorded([0])))
    }))

  it.effect("has texts that end at their first NUL, and no duration of 0", () =>
    Effect.gen(function*() {
      const name = Buffer.from("ab\u0000\u0001\u0007garbage\u0000")
      const bytes = new FitEncoder()
        .writeMessage(COURSE, [{ number: 5, size: name.length, baseType: FitBaseType.String, value: name }])
        .writeMessage(LAP, [uint32(253, START), uint32(8, 0)])
        .writeMessage(RECORD, [uint32(253, START), degrees(0, 46), degrees(1, 9)])
        .close()
      const [route] = yield* packedRoutes(bytes)
      assert.strictEqual(route?.document.name, "ab")
      assert.isUndefined(route?.measures.duration)
    }))
})
