import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { FitEncoder } from "fit-file-parser/encoder"
import { readFitMessages } from "fit-file-parser/raw"
import { MAX_DURATION } from "../../src/schema/Measures.ts"
import { draftsOf, type WrittenRoute } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
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

const at = (seconds: number) => uint32(253, START + seconds)

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

  it.effect("of a route has the largest number of the format instead of a larger one", () =>
    Effect.gen(function*() {
      const { document, measures } = yield* read(writeFit(largest))
      const heights = document.geometry.slice(0, 2).map((position) => position[2])
      assert.deepStrictEqual(heights, [(2 ** 32 - 2) / 5 - 500, -500])
      assert.deepStrictEqual(measures, { duration: (2 ** 32 - 2) / 1000 })
    }))

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
