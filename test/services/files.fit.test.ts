import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { FitBaseType, FitEncoder } from "fit-file-parser/encoder"
import { type FitRawField, readFitMessages } from "fit-file-parser/raw"
import { MAX_DISTANCE, MAX_DURATION } from "../../src/schema/Measures.ts"
import { draftsOf, type WrittenRoute } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { readFit } from "../../src/services/files/Fit.ts"
import { writeFit } from "../../src/services/files/FitWriter.ts"
import { readPacked } from "../../src/services/files/Upload.ts"
import { metresOf } from "../support/Files.ts"
import { byte, degrees, START, uint32 } from "../support/FitFields.ts"

const read = Effect.fnUntraced(function*(bytes: Uint8Array, name?: string) {
  const { draft, format } = yield* readPacked({ name, contentType: "application/vnd.ant.fit", bytes }, undefined)
  const [route] = yield* Effect.forEach(
    yield* draftsOf(draft, { split: false, join: false, track: undefined }),
    finish
  )
  return { format, ...route ?? assert.fail("no route") }
})

const route: WrittenRoute = {
  name: "Übers Joch 🚲",
  tags: [],
  activity: "cycle",
  waypoints: [{ coord: [9.5, 47.1], name: "Start" }, { coord: [9.6, 47.2] }],
  geometry: [[9.5, 47.1, 455.4], [9.55, 47.15, -12.2], [9.6, 47.2]],
  createdAt: "2026-01-01T00:00:00.000Z",
  duration: 3600
}

/**
 * Its milliseconds, centimetres (five times half of the way around the Earth) and heights are more than a field of FIT
 * can say.
 */
const largest: WrittenRoute = {
  ...route,
  geometry: [
    [9.5, -90, Number.MAX_VALUE],
    [9.5, 90, -Number.MAX_VALUE],
    [9.5, -90],
    [9.5, 90],
    [9.5, -90],
    [9.5, 90]
  ],
  duration: MAX_DURATION
}

const YEARS = ["1981", "2000", "2125", "2126", "2199"]

const at = (seconds: number) => uint32(253, START + seconds)

const sensor = (number: number, value: number) => ({ number, size: 1, baseType: FitBaseType.Uint8, value })

const record = (seconds: number, lat: number) => [at(seconds), degrees(0, lat), degrees(1, 9)]

const ACTIVITY = 4
const TIMER_START = [byte(0, 0), byte(1, 0)]
const TIMER_STOP = [byte(0, 0), byte(1, 4)]

/** The walk has a pause, and a record of a sensor alone. */
const activity = () =>
  new FitEncoder()
    .writeMessage(0, [byte(0, ACTIVITY)])
    .writeMessage(21, [at(0), ...TIMER_START])
    .writeMessage(20, record(0, 47))
    .writeMessage(20, record(60, 47.01))
    .writeMessage(21, [at(61), ...TIMER_STOP])
    .writeMessage(21, [at(600), ...TIMER_START])
    .writeMessage(20, record(601, 48))
    .writeMessage(20, record(661, 48.01))
    .writeMessage(20, [at(662)])
    .writeMessage(21, [at(663), ...TIMER_STOP])
    .writeMessage(18, [at(663), byte(5, 11)])
    .close()

/** Returns degrees in semicircles, as a number of 32 bits. */
const semicircles = (value: number) => Math.round(value * 2 ** 31 / 180)

const valueIn = ({ baseType, bytes, size }: FitRawField) => {
  const value = Buffer.from(bytes)
  if (baseType === FitBaseType.String) return value.subarray(0, -1).toString()
  return baseType === FitBaseType.Sint32 ? value.readInt32LE() : value.readUIntLE(0, size)
}

/** Returns the messages of a file, each with its number and the values of its fields by their numbers. */
const messagesOf = (
  written: WrittenRoute
): ReadonlyArray<readonly [number: number, values: Readonly<Record<number, unknown>>]> =>
  readFitMessages(writeFit(written)).messages.map(({ fields, globalMessageNumber }) => [
    globalMessageNumber,
    Object.fromEntries(fields.map((field) => [field.fieldNumber, valueIn(field)]))
  ])

const valuesOf = (written: WrittenRoute, message: number) =>
  messagesOf(written).flatMap(([number, values]) => number === message ? [values] : [])

describe("a FIT file", () => {
  it.effect("of a route is a course, and reads back to a centimetre and 20 cm of height", () =>
    Effect.gen(function*() {
      const bytes = writeFit(route)
      assert.strictEqual(readFitMessages(bytes, { messageNumbers: [20] }).messages.length, 3)
      const { document, format, measures } = yield* read(bytes)
      assert.strictEqual(format, "fit")
      assert.deepInclude(document, { name: route.name, activity: "cycle" })
      assert.deepStrictEqual(document.waypoints.map(({ name }) => name), ["Start", undefined])
      for (const [index, [lng, lat, elevation]] of route.geometry.entries()) {
        const [readLng = 0, readLat = 0, readElevation] = document.geometry[index] ?? []
        assert.closeTo(readLng, lng, 1e-7)
        assert.closeTo(readLat, lat, 1e-7)
        if (elevation === undefined) assert.isUndefined(readElevation)
        else assert.closeTo(readElevation ?? 0, elevation, 0.11)
      }
      const heights = document.geometry.map((position) => position[2])
      assert.deepStrictEqual(heights, [455.4, -12.2, undefined])
      assert.deepStrictEqual(measures, { duration: 3600 })
    }))

  it.effect("of a route without a duration or an activity has neither", () =>
    Effect.gen(function*() {
      const { duration: _, ...planned } = route
      assert.deepStrictEqual((yield* read(writeFit(planned))).measures, {})
      const { activity: _activity, ...open } = planned
      assert.deepStrictEqual((yield* read(writeFit(open))).dropped, [])
      assert.strictEqual((yield* read(writeFit({ ...planned, geometry: [[180, -90]] }))).document.geometry.length, 1)
      assert.deepStrictEqual((yield* read(writeFit({ ...planned, geometry: [] }))).document.geometry, [])
      assert.strictEqual((yield* read(writeFit({ ...planned, name: "ü".repeat(255) }))).document.name.length, 127)
    }))

  it.effect("of a route has the largest height of the format instead of a larger one", () =>
    Effect.gen(function*() {
      const { document } = yield* read(writeFit(largest))
      const heights = document.geometry.slice(0, 2).map((position) => position[2])
      assert.deepStrictEqual(heights, [(2 ** 32 - 2) / 5 - 500, -500])
    }))

  it.effect("of a route has in tenths the measures that are too large for a field of the format, and reads back", () =>
    Effect.gen(function*() {
      const [cue] = inParts.cues ?? []
      const far = {
        ...cue ?? assert.fail("no cue"),
        begin_shape_index: 3,
        length: MAX_DISTANCE / 1000,
        time: MAX_DURATION
      }
      const own = { distance: MAX_DISTANCE, duration: MAX_DURATION, elevationGain: 12.34 }
      const { document, measures } = yield* read(writeFit({ ...largest, ...own, cues: [far] }))
      assert.deepStrictEqual(measures, own)
      assert.deepStrictEqual(document.cues, [far])
      for (const changed of [{ duration: 5_184_000 }, { distance: 50_000_000 }]) {
        const { measures } = yield* read(writeFit({ ...route, ...changed }))
        assert.deepStrictEqual(measures, { duration: 3600, ...changed })
      }
    }))

  it("of a route leaves out a measure that is too large for its field", () => {
    const far = { type: 10, begin_shape_index: 3, length: 0, time: 0, instruction: "Turn right" }
    const coord = [9.5, 45] as const
    const written = { ...largest, geometry: [...largest.geometry, coord], waypoints: [{ coord }], cues: [far] }
    const metres = valuesOf(written, 20).map((values) => values[5])
    assert.deepStrictEqual(metres, [0, 2_001_508_680, 4_003_017_359, undefined, undefined, undefined, undefined])
    assert.doesNotHaveAnyKeys(valuesOf(written, 19)[0], ["7", "8", "9"])
    assert.deepStrictEqual(valuesOf(written, 32).map((values) => values[4]), [undefined, undefined])
  })

  it.effect("of an activity has its pauses as gaps, and its times as duration", () =>
    Effect.gen(function*() {
      const { document, dropped, measures, warnings } = yield* read(activity(), "Morning.fit")
      assert.deepInclude(document, { name: "Morning", activity: "walk" })
      assert.strictEqual(document.geometry.length, 4)
      assert.deepStrictEqual(document.segments, [0, 2])
      assert.closeTo(metresOf(document), 2 * 1111.95, 1)
      assert.strictEqual(measures.duration, 120)
      assert.deepStrictEqual(dropped, [{ what: "record", why: "it has no position", count: 1 }])
      assert.deepStrictEqual(warnings.map(({ code }) => code), ["dropped"])
    }))

  it.effect("followed by others is a list of tracks, without those that have no position or are broken", () =>
    Effect.gen(function*() {
      const settings = new FitEncoder().writeMessage(0, []).close()
      const cut = writeFit(route).slice(0, 20)
      const { draft } = yield* readPacked(
        { name: "all.fit", contentType: undefined, bytes: Buffer.concat([writeFit(route), settings, activity(), cut]) },
        undefined
      )
      assert.deepStrictEqual(draft.tracks.map(({ segments }) => segments.flat().length), [3, 4])
      assert.deepStrictEqual(draft.dropped.map(({ what, why }) => `${what}: ${why}`), [
        "record: it has no position",
        "FIT file: it ends early or is damaged, what could be read is kept",
        "track: it has no positions"
      ])
    }))

  it.effect("of messages without end is refused by their headers alone", () =>
    Effect.gen(function*() {
      const header = [14, 0x20, 0, 0, 0, 0, 0, 0, 0x2e, 0x46, 0x49, 0x54, 0, 0]
      const withoutFields = [0x40, 0, 0, 20, 0, 0]
      for (const count of [200_010, 2_000_000]) {
        const { message } = yield* Effect.flip(
          read(Uint8Array.from([...header, ...withoutFields, ...new Uint8Array(count)]))
        )
        assert.include(message, "Expected a FIT file of at most 200000 messages")
      }
      const few = yield* Effect.flip(read(Uint8Array.from([...header, ...withoutFields, ...new Uint8Array(1000)])))
      assert.strictEqual(few.message, "The file has no points")
    }))

  it.effect("begins at an instant that FIT can say, whenever its route was recorded", () =>
    Effect.gen(function*() {
      for (const year of YEARS) {
        const { document } = yield* read(writeFit({ ...route, recordedAt: `${year}-12-31T23:59:59.000Z` }))
        assert.strictEqual(document.name, route.name, year)
      }
    }))

  it.effect("is refused for its length above 4 MiB, and not at them", () =>
    Effect.gen(function*() {
      const header = [14, 0x20, 0, 0, 0, 0, 0, 0, 0x2e, 0x46, 0x49, 0x54, 0, 0]
      const refusedWith = Effect.fnUntraced(function*(length: number) {
        const bytes = new Uint8Array(length)
        bytes.set(header)
        return (yield* Effect.flip(read(bytes))).message
      })
      assert.include(yield* refusedWith(4_194_305), "Expected a FIT file of at most 4194304 bytes")
      assert.notInclude(yield* refusedWith(4_194_304), "4194304 bytes")
    }))

  it.effect("that is broken gives what is whole of it, or is refused, wherever it breaks", () =>
    Effect.gen(function*() {
      const bytes = activity()
      for (let length = 12; length < bytes.length; length += 7) {
        const outcome = yield* Effect.result(read(bytes.slice(0, length)))
        if (Result.isFailure(outcome)) assert.match(outcome.failure.message, /^Malformed FIT|^The file has no points/)
        else assert.include(outcome.success.dropped.map(({ what }) => what), "FIT file")
      }
      const flipped = Uint8Array.from(bytes, (byte, index) => index === bytes.length - 1 ? byte ^ 1 : byte)
      assert.match((yield* read(flipped)).dropped[0]?.why ?? "", /checksum/)
      // The last message has a definition that the file does not have.
      const damaged = Buffer.from([...bytes.slice(0, -2), 0x0f, ...bytes.slice(-2)])
      damaged.writeUInt32LE(damaged.readUInt32LE(4) + 1, 4)
      assert.match((yield* read(damaged)).dropped[0]?.why ?? "", /damaged/)
    }))
})

/** It begins 1,136,160,010 seconds after 1989-12-31, the epoch of FIT. The parts are 0.04 and 0.01 degrees long. */
const inParts: WrittenRoute = {
  name: "Übers Joch",
  tags: [],
  activity: "walk",
  recordedAt: "2026-01-01T00:00:10.000Z",
  createdAt: "2026-02-01T00:00:00.000Z",
  distance: 5600.5,
  duration: 100,
  elevationGain: 12.34,
  geometry: [[9, 0, 100], [9, 0.01, -20], [9, 0.04], [9.5, 0.02], [9.5, 0.03]],
  segments: [0, 3],
  waypoints: [
    { coord: [9, 0.012], name: "Spring", type: "water" },
    { coord: [9, 0.02], type: "routed" },
    { coord: [9.5, 0.03], name: null },
    { coord: [9.5, 0.02], name: "" }
  ],
  cues: [
    { type: 10, begin_shape_index: 1, length: 0.25, time: 61.5, instruction: "Turn right" },
    { type: 15, begin_shape_index: 4, length: 0, time: 0, instruction: "" },
    { type: 4, begin_shape_index: 5, length: 0, time: 0, instruction: "Beyond the line" }
  ]
}

describe("the messages of a FIT file", () => {
  it("are those of a course in the profile of FIT, with a timer that stops at a gap, and messages of our own", () => {
    const start = 1_136_160_010
    const [along1, along4, along5] = [111_195, 444_780, 555_975]
    const [west, east] = [semicircles(9), semicircles(9.5)]
    const [lat1, lat2, lat3, lat4] = [0.01, 0.02, 0.03, 0.04].map(semicircles)
    assert.deepStrictEqual(messagesOf(inParts), [
      [0, { 0: 6, 1: 255, 2: 0, 4: start, 8: "rps waypoints 3" }],
      [31, { 4: 11, 5: "Übers Joch" }],
      [
        19,
        { 253: start + 101, 2: start, 3: 0, 4: west, 5: lat3, 6: east, 7: 101_000, 8: 100_000, 9: along5 }
      ],
      [21, { 253: start, 0: 0, 1: 0 }],
      [20, { 253: start, 0: 0, 1: west, 5: 0, 78: 3000 }],
      [20, { 253: start + 20, 0: lat1, 1: west, 5: along1, 78: 2400 }],
      [20, { 253: start + 80, 0: lat4, 1: west, 5: along4 }],
      [21, { 253: start + 80, 0: 0, 1: 4 }],
      [21, { 253: start + 81, 0: 0, 1: 0 }],
      [20, { 253: start + 81, 0: lat2, 1: east, 5: along4 }],
      [20, { 253: start + 101, 0: lat3, 1: east, 5: along5 }],
      [0xff01, { 0: along5, 1: 560_050, 2: 1234 }],
      [0xff02, { 0: 10, 1: 1, 2: 25_000, 3: 61_500 }],
      [0xff02, { 0: 15, 1: 4, 2: 0, 3: 0 }],
      [0xff00, { 0: 1, 1: lat2, 2: west }],
      [32, { 254: 0, 1: start + 20, 2: semicircles(0.012), 3: west, 4: along1, 5: 3, 6: "Spring" }],
      [32, { 254: 3, 1: start + 20, 2: lat1, 3: west, 4: along1, 5: 7, 6: "Turn right" }],
      [32, { 254: 1, 1: start + 101, 2: lat3, 3: east, 4: along5, 5: 0 }],
      [32, { 254: 2, 1: start + 81, 2: lat2, 3: east, 4: along4, 5: 0 }],
      [32, { 254: 4, 1: start + 101, 2: lat3, 3: east, 4: along5, 5: 6, 6: "Left" }],
      [21, { 253: start + 101, 0: 0, 1: 9 }]
    ])
  })

  it("name the sport, and begin in 2000 where the route has no time that FIT can say", () => {
    for (const [activity, sport] of [["run", 1], ["cycle", 2], ["walk", 11]] as const) {
      assert.deepInclude(valuesOf({ ...inParts, activity }, 31)[0], { 4: sport })
    }
    const { activity: _activity, createdAt: _createdAt, recordedAt: _recordedAt, ...untimed } = inParts
    assert.deepInclude(valuesOf(untimed, 31)[0], { 4: 0 })
    const timesOf = (times: Pick<WrittenRoute, "createdAt" | "recordedAt">) =>
      valuesOf({ ...untimed, ...times }, 0).map((values) => values[4])
    assert.deepStrictEqual(timesOf({}), [315_619_200])
    assert.deepStrictEqual(timesOf({ createdAt: "1970-01-02T00:00:00Z" }), [315_619_200])
    assert.deepStrictEqual(timesOf({ recordedAt: "at noon" }), [315_619_200])
    assert.deepStrictEqual(timesOf({ createdAt: "2000-01-01T00:00:01Z" }), [315_619_201])
  })

  it("have one position, a short line or none", () => {
    const { cues: _cues, segments: _segments, ...whole } = inParts
    const start = 1_136_160_010
    const [point] = valuesOf({ ...whole, geometry: [[180, -90]] }, 19)
    // The largest number of 32 bits says that there is no value.
    const [lat, lng] = [-(2 ** 30), 2 ** 31 - 2]
    assert.deepInclude(point, { 253: start, 2: start, 3: lat, 4: lng, 5: lat, 6: lng, 9: 0 })
    const still = valuesOf({ ...whole, geometry: [[9, 0], [9, 0]] }, 20).map((values) => values[253])
    assert.deepStrictEqual(still, [start, start + 1])
    const short = valuesOf({ ...whole, geometry: [[9, 0], [9, 0.000_001]] }, 20).map((values) => values[253])
    assert.deepStrictEqual(short, [start, start + 100])
    const none = { ...whole, geometry: [] }
    assert.deepStrictEqual(valuesOf(none, 19), [{ 253: start, 2: start, 7: 100_000, 8: 100_000, 9: 0 }])
    assert.deepInclude(valuesOf(none, 32)[0], { 1: start, 4: 0, 6: "Spring" })
  })

  it("have texts of at most 255 bytes, and points names of 64, with the NUL at their end", () => {
    const long = "a".repeat(300)
    const named = { ...inParts, name: long, waypoints: [{ coord: [9, 0] as const, name: long }] }
    assert.strictEqual(valuesOf(named, 31)[0]?.[5], "a".repeat(254))
    assert.strictEqual(valuesOf(named, 32)[0]?.[6], "a".repeat(63))
  })
})

/** Returns records at these seconds, from 46 degrees north on. */
const withRecords = (encoder: FitEncoder, seconds: ReadonlyArray<number>) => {
  for (const [index, second] of seconds.entries()) encoder.writeMessage(20, record(second, 46 + index / 100))
  return encoder
}

describe("a FIT file of another program", () => {
  it.effect("has gaps where its timer stopped, in whatever order and place that stands", () =>
    Effect.gen(function*() {
      const encoder = withRecords(new FitEncoder().writeMessage(0, [byte(0, ACTIVITY)]), [0, 60, 100, 200, 260])
      encoder.writeMessage(21, TIMER_STOP)
      for (const second of [100, 60, -10]) encoder.writeMessage(21, [at(second), ...TIMER_STOP])
      const { document, measures } = yield* read(encoder.close())
      assert.deepStrictEqual(document.segments, [0, 2, 3])
      assert.strictEqual(measures.duration, 120)
    }))

  it.effect("has records with values of sensors, which are counted as left out", () =>
    Effect.gen(function*() {
      const encoder = withRecords(new FitEncoder(), [0, 60])
      for (const number of [3, 4]) encoder.writeMessage(20, [...record(120, 47), sensor(number, 90), sensor(13, 20)])
      encoder.writeMessage(20, [...record(180, 47), sensor(3, 255)])
      encoder.writeMessage(20, [...record(240, 47), { ...sensor(13, 20), baseType: FitBaseType.Sint8 }])
      const { dropped } = yield* read(encoder.close())
      assert.deepStrictEqual(dropped, [
        { what: "heart rate, cadence, power or temperature of record", why: "a route has no place for it", count: 3 }
      ])
    }))

  it.effect("may have its sport in a message of its own, and a timer below a second", () =>
    Effect.gen(function*() {
      const encoder = withRecords(new FitEncoder().writeMessage(12, [byte(0, 2)]), [0, 60])
      const { document, measures } = yield* read(encoder.writeMessage(18, [at(60), uint32(8, 500)]).close())
      assert.deepStrictEqual([document.activity, measures.duration], ["cycle", 0.5])
    }))

  it.effect("has course points of the kinds in the profile of FIT, and a number beyond them is no kind", () =>
    Effect.gen(function*() {
      const encoder = withRecords(new FitEncoder().writeMessage(31, []), [0, 60])
      for (const kind of [27, 53, 251]) {
        encoder.writeMessage(32, [degrees(2, 46), degrees(3, 9), byte(5, kind)])
      }
      const { document } = yield* read(encoder.close())
      assert.deepStrictEqual(document.waypoints.map(({ type }) => type), ["campsite", "info", undefined])
    }))

  it.effect("that follows another has the name of its sport, and one with too many messages is named", () =>
    Effect.gen(function*() {
      const header = [14, 0x20, 0, 0, 0, 0, 0, 0, 0x2e, 0x46, 0x49, 0x54, 0, 0]
      const endless = Uint8Array.from([...header, 0x40, 0, 0, 20, 0, 0, ...new Uint8Array(200_010)])
      const { draft } = yield* readPacked(
        { name: "all.fit", contentType: undefined, bytes: Buffer.concat([activity(), activity(), endless]) },
        undefined
      )
      assert.deepStrictEqual(draft.tracks.map(({ names }) => names.filter((name) => name !== undefined)), [
        ["walking", "all"],
        ["walking", "all"]
      ])
      assert.deepInclude(draft.dropped, {
        what: "FIT file",
        why: "Expected a FIT file of at most 200000 messages, with 2000000 fields together",
        count: 1
      })
    }))
})

describe("the messages of our own in a FIT file", () => {
  const text = (number: number, value: string) => {
    const bytes = FitEncoder.string(value)
    return { number, size: bytes.length, baseType: FitBaseType.String, value: bytes }
  }

  it.effect("leave a waypoint that is named like a turn as it is", () =>
    Effect.gen(function*() {
      const waypoints = [{ coord: [9.5, 47.1] as const, name: "Inn", type: "left" }]
      const { document } = yield* read(writeFit({ ...route, waypoints }))
      assert.deepStrictEqual(document.waypoints.map(({ name }) => name), ["Inn"])
      assert.notProperty(document, "cues")
    }))

  it.effect("count only where they are whole, and a cue without numbers has zeros", () =>
    Effect.gen(function*() {
      const own = new FitEncoder({ protocolVersion: 0x20 }).writeMessage(0, [byte(0, 6), text(8, "rps waypoints 0")])
      const encoder = withRecords(own, [0, 60])
        .writeMessage(0xff01, [uint32(1, 100)])
        .writeMessage(0xff00, [uint32(0, 0), degrees(1, 120), degrees(2, 9)])
        .writeMessage(0xff00, [uint32(0, 2 ** 32 - 1), degrees(1, 46), degrees(2, 9)])
        .writeMessage(0xff02, [uint32(0, 8), uint32(1, 1)])
      const { cues, measures, waypoints } = yield* readFit(encoder.close())
      assert.deepStrictEqual({ cues, measures, waypoints }, {
        cues: [{ type: 8, begin_shape_index: 1, length: 0, time: 0, instruction: "" }],
        measures: undefined,
        waypoints: []
      })
    }))
})
