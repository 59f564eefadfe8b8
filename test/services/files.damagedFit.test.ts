import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { FitBaseType, FitEncoder, type FitEncoderField } from "fit-file-parser/encoder"
import { chainedFiles, roomOfFit, wholeFit } from "../../src/services/files/FitBytes.ts"
import { packedRoutes } from "../support/Files.ts"
import { byte, degrees, START, uint32 } from "../support/FitFields.ts"

const [RECORD, SESSION, COURSE, LAP, EVENT] = [20, 18, 31, 19, 21]

const recorded = (
  seconds: ReadonlyArray<number>,
  sessions: ReadonlyArray<ReadonlyArray<FitEncoderField>> = [],
  events: ReadonlyArray<ReadonlyArray<FitEncoderField>> = []
) => {
  const encoder = new FitEncoder()
  for (const [index, second] of seconds.entries()) {
    encoder.writeMessage(RECORD, [uint32(253, START + second), degrees(0, 46 + index / 1000), degrees(1, 9)])
  }
  for (const session of sessions) encoder.writeMessage(SESSION, [...session])
  for (const event of events) encoder.writeMessage(EVENT, [...event])
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

  it.effect("with a header of data that has bits of a definition gives what is before it", () =>
    Effect.gen(function*() {
      const bytes = recorded(times)
      const lastRecord = bytes.length - 2 - (1 + 3 * 4)
      assert.strictEqual(bytes[lastRecord], 0)
      for (const header of [0x10, 0x20]) {
        const damaged = Uint8Array.from(bytes, (byte, index) => index === lastRecord ? header : byte)
        const { dropped, positions } = yield* positionsOf(damaged)
        assert.strictEqual(positions, 11)
        assert.match(dropped.join(), /is damaged/)
      }
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
      const inOrder = recorded(times, [session(60, 42, 12), session(0, 41, 11)])
      const late = recorded(times, [unstarted(120, 12), unstarted(50, 11)])
      for (const bytes of [inOrder, late]) {
        assert.deepStrictEqual(
          (yield* packedRoutes(bytes)).map(({ document }) => [document.name, document.geometry.length]),
          [["walking", 6], ["cross country skiing", 6]]
        )
      }
    }))

  it.effect("has a pause of hours as a gap, and both of the sessions around one", () =>
    Effect.gen(function*() {
      const walk = Array.from({ length: 100 }, (_, index) => index)
      const pauses: ReadonlyArray<readonly [from: number, recorded: ReadonlyArray<number>]> = [
        [100, [...walk, ...[0, 1, 2].map((second) => 7300 + second)]],
        [3, [0, 1, 2, ...walk.map((second) => 7300 + second)]]
      ]
      for (const [from, seconds] of pauses) {
        const stop = [uint32(253, START + from), byte(0, 0), byte(1, 4)]
        const [paused] = yield* packedRoutes(recorded(seconds, [], [stop]))
        assert.deepStrictEqual(paused?.document.segments, [0, from])
        assert.deepStrictEqual(paused?.measures, {
          duration: 101,
          recordedAt: new Date(1000 * START + Date.UTC(1989, 11, 31)).toISOString()
        })
        const [late] = yield* packedRoutes(recorded([90_000_000, ...seconds], [], [stop]))
        assert.deepStrictEqual(late?.document.segments, [0, from + 1], "the first record has a wrong time")
        const session = (start: number) => [uint32(253, START + 8000), uint32(2, START + start)]
        const sessions = yield* packedRoutes(recorded(seconds, [session(0), session(7300)]))
        assert.deepStrictEqual(sessions.map(({ document }) => document.geometry.length), [from, 103 - from])
        assert.deepStrictEqual(sessions.flatMap(({ dropped }) => dropped), [])
      }
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

/** Makes a file of these messages, with a checksum. */
const fileOf = (messages: ReadonlyArray<number>) => {
  const bytes = [14, 0x20, 0, 0, messages.length, 0, 0, 0, 0x2e, 0x46, 0x49, 0x54, 0, 0, ...messages]
  const checksum = FitEncoder.calculateCRC(bytes)
  return Uint8Array.from([...bytes, checksum & 0xff, checksum >> 8])
}

/** Returns the messages that are kept of a file, and what was wrong with it. */
const keptOf = (messages: ReadonlyArray<number>) => {
  const { bytes, dropped } = wholeFit(fileOf(messages), roomOfFit())
  return { messages: Array.from(bytes.subarray(14, 14 + Buffer.from(bytes).readUInt32LE(4))), dropped }
}

/** Returns a definition of records with fields of these sizes and base types (FIT protocol, definition message). */
const definition = (local: number, ...fields: ReadonlyArray<readonly [size: number, type: number]>) => [
  0x40 | local,
  0,
  0,
  20,
  0,
  fields.length,
  ...fields.flatMap(([size, type], index) => [index, size, type])
]

const [BYTE, STRING] = [2, 7]

describe("the messages of a FIT file", () => {
  it("have their texts up to the first NUL, in whatever field, and other fields as they are", () => {
    const fields = definition(1, [2, BYTE], [5, STRING], [3, BYTE], [3, STRING])
    assert.deepStrictEqual(keptOf([...fields, 1, 0, 9, 97, 98, 0, 1, 99, 0, 7, 8, 97, 1, 98]), {
      messages: [...fields, 1, 0, 9, 97, 98, 0, 0, 0, 0, 7, 8, 97, 1, 98],
      dropped: []
    })
    // The developer's field is the first of program 7.
    const developer = [0x60, 0, 0, 20, 0, 1, 0, 1, BYTE, 1, 0, 4, 7]
    const messages = [...developer, 0, 5, 97, 0, 98, 99]
    assert.deepStrictEqual(keptOf(messages), { messages, dropped: [] })
  })

  it("are whole where the last is a definition, or one with a compressed time", () => {
    const fields = definition(2, [1, BYTE])
    for (const messages of [fields, [...fields, 0x80 | 2 << 5, 1]]) {
      assert.deepStrictEqual(keptOf(messages), { messages, dropped: [] })
    }
  })

  it("are kept up to the first that is not whole, or has no definition", () => {
    const fields = definition(0, [2, BYTE])
    const damaged = { what: "FIT file", why: "it ends early or is damaged, what could be read is kept", count: 1 }
    for (const rest of [[0, 1], [1, 1, 1], [0x10, 1, 1], [0x20, 1, 1], fields.slice(0, -1)]) {
      const messages = [...fields, 0, 1, 2]
      assert.deepStrictEqual(keptOf([...messages, ...rest]), { messages, dropped: [damaged] })
    }
    assert.deepStrictEqual(keptOf([0]), { messages: [], dropped: [damaged] })
  })

  it("share the room of all files that follow each other, by messages and by fields", () => {
    const bytes = fileOf([...definition(0, [1, BYTE], [1, BYTE]), 0, 1, 1, 0, 2, 2])
    assert.deepStrictEqual(roomOfFit(), { messages: 200_000, fields: 2_000_000 })
    const exact = { messages: 3, fields: 4 }
    assert.isFalse(wholeFit(bytes, exact).isTooLong)
    assert.deepStrictEqual(exact, { messages: 0, fields: 0 })
    for (const room of [{ messages: 2, fields: 9 }, { messages: 9, fields: 3 }]) {
      assert.deepInclude(wholeFit(bytes, room), { isTooLong: true, dropped: [] })
    }
  })
})

describe("FIT files that follow each other", () => {
  it("are split where the next begins, and the 101st has all that is left", () => {
    const short = fileOf([0])
    assert.strictEqual(short.length, 17)
    const lengthsOf = (count: number) =>
      chainedFiles(Buffer.concat(Array.from({ length: count }, () => short))).map(({ length }) => length)
    assert.deepStrictEqual(lengthsOf(3), [17, 17, 17])
    assert.deepStrictEqual(lengthsOf(150), [...Array.from({ length: 100 }, () => 17), 17 * 50])
  })
})
