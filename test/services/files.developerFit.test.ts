import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { FitBaseType, FitEncoder } from "fit-file-parser/encoder"
import { packedRoutes } from "../support/Files.ts"
import { START } from "../support/FitFields.ts"

type Field = readonly [number: number, type: FitBaseType, bytes: ReadonlyArray<number>]

const [RECORD, SESSION, COURSE, LAP, COURSE_POINT, FIELD_DESCRIPTION] = [20, 18, 31, 19, 32, 206]

const text = (value: string) => [...Buffer.from(`${value}\0`)]

const uint32 = (value: number) => [...new Uint8Array(Uint32Array.of(value).buffer)]

const degrees = (value: number) => uint32(Math.round(value * 2 ** 31 / 180))

const definitionOf = (header: number, message: number, fields: ReadonlyArray<Field>) => {
  const sizes = fields.flatMap(([number, type, bytes]) => [number, bytes.length, type])
  return [header, 0, 0, message, 0, fields.length, ...sizes]
}

const valuesOf = (fields: ReadonlyArray<Field>) => fields.flatMap(([, , bytes]) => bytes)

/** A developer field is described by the message before it: the program is the first, and so is the field. */
interface DeveloperField {
  readonly name: string
  readonly type: FitBaseType
  readonly bytes: ReadonlyArray<number>
}

const messageOf = (message: number, fields: ReadonlyArray<Field>) => [
  ...definitionOf(0x41, message, fields),
  1,
  ...valuesOf(fields)
]

/** Returns a message with fields of its own, and a developer field beside them (FIT protocol, developer data). */
const withDeveloperField = (message: number, fields: ReadonlyArray<Field>, { bytes, name, type }: DeveloperField) => [
  ...messageOf(FIELD_DESCRIPTION, [
    [0, FitBaseType.Uint8, [0]],
    [1, FitBaseType.Uint8, [0]],
    [2, FitBaseType.Uint8, [type]],
    [3, FitBaseType.String, text(name)]
  ]),
  ...definitionOf(0x60, message, fields),
  1,
  0,
  bytes.length,
  0,
  0,
  ...valuesOf(fields),
  ...bytes
]

const routesOf = (...messages: ReadonlyArray<ReadonlyArray<number>>) => {
  const data = messages.flat()
  const bytes = [14, 0x20, 0, 0, ...uint32(data.length), 0x2e, 0x46, 0x49, 0x54, 0, 0, ...data]
  const checksum = FitEncoder.calculateCRC(bytes)
  return packedRoutes(Uint8Array.from([...bytes, checksum & 0xff, checksum >> 8]))
}

const ALTITUDE: Field = [2, FitBaseType.Uint16, [...new Uint8Array(Uint16Array.of(5 * (500 + 455)).buffer)]]

const record = (second: number): ReadonlyArray<Field> => [
  [253, FitBaseType.Uint32, uint32(START + second)],
  [0, FitBaseType.Sint32, degrees(46 + second / 1000)],
  [1, FitBaseType.Sint32, degrees(9)]
]

const string = (name: string, value: string): DeveloperField => ({
  name,
  type: FitBaseType.String,
  bytes: text(value)
})

const floats = (name: string, ...values: ReadonlyArray<number>): DeveloperField => ({
  name,
  type: FitBaseType.Float32,
  bytes: [...new Uint8Array(Float32Array.from(values).buffer)]
})

describe("a developer field of a FIT file with the name of a native one", () => {
  it.effect("is no elevation where it is no number, and the other one of the record counts", () =>
    Effect.gen(function*() {
      const elevationsOf = Effect.fnUntraced(function*(field: DeveloperField) {
        const [route] = yield* routesOf(withDeveloperField(RECORD, [...record(0), ALTITUDE], field))
        return route?.document.geometry.map((position) => position.slice(2))
      })
      assert.deepStrictEqual(yield* elevationsOf(floats("altitude", 12.5)), [[12.5]])
      for (const field of [string("altitude", "high"), floats("altitude", Infinity), floats("altitude", 1, 2)]) {
        assert.deepStrictEqual(yield* elevationsOf(field), [[]])
      }
      assert.deepStrictEqual(yield* elevationsOf(string("enhanced_altitude", "high")), [[455]])
    }))

  it.effect("is no longitude or latitude where it is no number", () =>
    Effect.gen(function*() {
      for (const field of [string("position_long", "9"), string("position_lat", "46")]) {
        const [route] = yield* routesOf(messageOf(RECORD, record(0)), withDeveloperField(RECORD, record(1), field))
        assert.strictEqual(route?.document.geometry.length, 1)
        assert.deepStrictEqual(route?.dropped, [{ what: "record", why: "it has no position", count: 1 }])
      }
    }))

  it.effect("is no time and no duration where it is of another kind", () =>
    Effect.gen(function*() {
      const line = [0, 60].flatMap((second) => messageOf(RECORD, record(second)))
      const measuresOf = (...messages: ReadonlyArray<ReadonlyArray<number>>) =>
        Effect.map(routesOf(...messages), (routes) => routes.map(({ measures }) => measures))
      const recordedAt = "2021-09-08T01:46:40.000Z"
      const untimed = [0, 60].map((second) => withDeveloperField(RECORD, record(second), string("timestamp", "noon")))
      assert.deepStrictEqual(yield* measuresOf(...untimed), [{}])
      for (const name of ["timestamp", "start_time", "total_timer_time"]) {
        const session = withDeveloperField(SESSION, [], string(name, "7"))
        assert.deepStrictEqual(yield* measuresOf(line, session), [{ duration: 60, recordedAt }], name)
        assert.strictEqual((yield* measuresOf(line, session, session)).length, 1, name)
      }
      const lap = withDeveloperField(LAP, [], string("total_timer_time", "7"))
      assert.deepStrictEqual(yield* measuresOf(line, messageOf(COURSE, []), lap), [{}])
    }))

  it.effect("is no name where it is no text", () =>
    Effect.gen(function*() {
      const point: ReadonlyArray<Field> = [
        [2, FitBaseType.Sint32, degrees(46)],
        [3, FitBaseType.Sint32, degrees(9)]
      ]
      const [route] = yield* routesOf(
        messageOf(RECORD, record(0)),
        withDeveloperField(COURSE, [], floats("name", 7)),
        withDeveloperField(COURSE_POINT, point, floats("name", 7))
      )
      assert.strictEqual(route?.document.name, "Imported route")
      assert.deepStrictEqual(route?.document.waypoints.map(({ name }) => name), [undefined])
    }))
})
