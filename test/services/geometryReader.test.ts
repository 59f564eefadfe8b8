import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { MAX_POSITIONS } from "../../src/schema/Geometry.ts"
import { NewRoute } from "../../src/schema/Route.ts"
import { decodeBounded, maxValuesOf } from "../../src/services/bodies/BoundedJson.ts"
import { measurePositions } from "../../src/services/geometry/MeasuredPolyline.ts"
import { scanPositions } from "../../src/services/geometry/PositionScanner.ts"
import { readerWithLine, type WithLine, withSegmentsOnLine } from "../../src/services/routes/RouteJobs.ts"
import { numbers } from "../support/Numbers.ts"

const decode = decodeBounded(NewRoute)

const read = readerWithLine(decode)

/** Decodes a body as a whole and measures its positions. */
const readAsWhole = (text: Buffer) =>
  Result.map(decode(text), ({ geometry, ...rest }): WithLine<NewRoute> => ({
    rest,
    line: geometry && measurePositions(geometry)
  }))

const assertSame = (json: string) => {
  const text = Buffer.from(json)
  assert.deepStrictEqual(read(text), readAsWhole(text))
}

/** A client may write a number in these ways, rightly or wrongly. */
const written = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -90_000_000, max: 90_000_000 }).map((n) => String(n / 1e6)) },
  { weight: 2, arbitrary: numbers(-90, 90).map((n) => JSON.stringify(n)) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom("", "-"), fc.constantFrom("", "0", "00"), fc.stringMatching(/^\d{1,18}$/))
      .map(([sign, zeros, digits]) => `${sign}${zeros}${digits.slice(0, 2)}.${zeros}${digits.slice(2)}`)
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "0",
      "-0",
      "0.0",
      "-0.0",
      "0.000001",
      "0.0000001",
      "-0.0000009",
      "1e1",
      "9.10",
      "090",
      "90.000000000000001",
      "90",
      "181",
      "1e400",
      "9007199254740993",
      "999999999999999",
      "1000000000000000",
      "-",
      ".5",
      "5.",
      "+5",
      "1E-7",
      "null",
      "\"5\"",
      "[]",
      "0.1234567890123456",
      "123456789012345678901234567890"
    )
  }
)

const position = fc.tuple(
  fc.array(written, { minLength: 1, maxLength: 4 }).filter(({ length }) => length > 1),
  fc.constantFrom(",", ",", ",", ", ")
).map(([numbers, comma]) => `[${numbers.join(comma)}]`)

/** A number has six places, or is as calculations leave it, but never has an exponent. */
const degrees = (most: number) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: -most * 1e6, max: most * 1e6 }).map((n) => n / 1e6) },
    { weight: 1, arbitrary: numbers(-most, most).map((n) => Math.abs(n) < 1e-5 ? 0 : n) }
  )

const sound = fc.tuple(
  degrees(180),
  degrees(90),
  fc.option(fc.integer({ min: -50_000, max: 90_000 }), { nil: undefined })
)
  .map(([lng, lat, elevation]) => JSON.stringify(elevation === undefined ? [lng, lat] : [lng, lat, elevation / 10]))

const listOf = (items: fc.Arbitrary<string>) =>
  fc.array(items, { maxLength: 12 }).map((items) => `[${items.join(",")}]`)

const geometry = fc.oneof(
  { weight: 4, arbitrary: listOf(sound) },
  { weight: 3, arbitrary: listOf(position) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "[]",
      "null",
      "{}",
      "[[9,47]",
      "[[9,47],]",
      "[[9,47]]]",
      "[[9,47]] ",
      "[[9,47][9,48]]",
      "[9,47]",
      " [[9,47]]",
      "[[9,47,1,2]]",
      "\"[[9,47]]\"",
      "[[]]",
      ""
    )
  }
)

const name = fc.constantFrom("geometry", "geometry", "geometry", "geometry ", "g\\u0065ometry", "geometrý", "Geometry")

const member = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(name, geometry).map(([name, value]) => `"${name}":${value}`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      `"description":"\\"geometry\\":[[1,2]]"`,
      `"description":"é\\\\"`,
      `"x":{"geometry":[[1,2]]}`,
      `"x":[{"geometry":[[1,2]]},"geometry"]`,
      `"tags":["a","b"]`,
      `"distance":5`,
      `"distance":"far"`,
      `"geometry" : [[9,47],[9,48]]`,
      `"\\\\":1`,
      `"":1`
    )
  }
)

const body = fc.tuple(
  fc.constantFrom("{", "{", "{", " { ", "[{", "{{", ""),
  fc.array(member, { maxLength: 4 }),
  fc.constantFrom("}", "}", "}", "} ", "}]", "}}", "},{}", "")
).map(([before, members, after]) =>
  `${before}${[`"name":"x"`, `"waypoints":[{"coord":[9,47]}]`, ...members].join(",")}${after}`
)

const RUNS = { numRuns: 1500 }

describe("the body of a route", () => {
  it("is what its decoder and the measurement of its positions make of it, however it is written", () => {
    fc.assert(fc.property(body, assertSame), RUNS)
  })

  it("with a geometry as JSON.stringify writes it is read past the decoder, to the last bit", () => {
    fc.assert(
      fc.property(fc.array(sound, { minLength: 1, maxLength: 300, size: "max" }), (positions) => {
        const json = `[${positions.join(",")}]`
        const scanned = scanPositions(Buffer.from(`{"a":${json}}`), `{"a":`.length)
        const expected: ReadonlyArray<ReadonlyArray<number>> = JSON.parse(json)
        assert.strictEqual(scanned?.line.json, json)
        assert.deepStrictEqual([...scanned?.line.coordinates.lngs ?? []], expected.map(([lng = 0]) => lng))
        assert.deepStrictEqual([...scanned?.line.coordinates.lats ?? []], expected.map(([, lat = 0]) => lat))
        assert.deepStrictEqual(positions.map((_, index) => scanned?.line.textAt(index)), positions)
        assertSame(`{"name":"x","waypoints":[{"coord":[9,47]}],"geometry":${json}}`)
      }),
      { numRuns: 60 }
    )
  })

  it("has no decimal in its geometry that is taken for its neighbour", () => {
    const decimal = fc.tuple(fc.integer({ min: 0, max: 999_999_999_999_999 }), fc.integer({ min: 0, max: 15 }))
      .map(([digits, places]) => Number(`${digits}e-${places}`))
    fc.assert(
      fc.property(decimal, (elevation) => {
        const text = JSON.stringify([[9, 47, elevation]])
        const scanned = scanPositions(Buffer.from(text), 0)
        if (/e|\d{16}/.test(text.replace(".", ""))) return
        assert.strictEqual(scanned?.line.json, text)
        assert.deepStrictEqual(scanned?.line.start, [9, 47, elevation])
      }),
      RUNS
    )
  })

  it("takes only the text of a number that JSON.stringify writes", () => {
    const text = fc.stringMatching(/^-?\d{1,3}(\.0{0,8}\d{0,4})?$/)
    fc.assert(
      fc.property(text, (number) => {
        const json = `[[9,47,${number}]]`
        if (scanPositions(Buffer.from(json), 0) === undefined) return
        assert.strictEqual(JSON.stringify(JSON.parse(json)), json)
      }),
      {
        examples: ["-0", "0.0000001", "-0.0000001", "-0.000001", "0.10", "00", "1."].map((number) => [number]),
        ...RUNS
      }
    )
  })

  it("is scanned with its positions, elevations, values and end", () => {
    const { end, line, values } = scanPositions(Buffer.from("[[9,47],[-180,90,5.5],[180,-90]],7"), 0) ?? {}
    assert.deepInclude(line, {
      coordinates: { lngs: Float64Array.of(9, -180, 180), lats: Float64Array.of(47, 90, -90) },
      elevations: Float64Array.of(Number.NaN, 5.5, Number.NaN),
      json: "[[9,47],[-180,90,5.5],[180,-90]]",
      start: [9, 47]
    })
    // A position and each of its numbers is a value.
    assert.deepStrictEqual([end, values], [32, 3 + 4 + 3])
    assert.deepStrictEqual([0, 1, 2].map((index) => line?.textAt(index)), ["[9,47]", "[-180,90,5.5]", "[180,-90]"])
    assert.isUndefined(scanPositions(Buffer.from("[[9,47]]"), 0)?.line.elevations)
    const tiny = scanPositions(Buffer.from("[[0.00000123456789012345,0.000001],[0,-0.5]]"), 0)?.line.coordinates
    assert.deepStrictEqual(tiny, { lngs: Float64Array.of(1.23456789012345e-6, 0), lats: Float64Array.of(1e-6, -0.5) })
  })

  it("is not scanned with a coordinate that is none on Earth, or that JSON.stringify writes in another way", () => {
    const coordinates = [
      "180.1,0",
      "-180.1,0",
      "0,90.1",
      "0,-90.1",
      "0.0000009,0",
      "0,0,0.000000000000000000000001",
      "0,-0"
    ]
    for (const text of [...coordinates, "0,", ",0", "0,0,", "-,0", "00,0", "0,.5", "0,5.", "0", "0,0,0,0"]) {
      assert.isUndefined(scanPositions(Buffer.from(`[[${text}]]`), 0), text)
    }
  })

  it("has at most as many positions and values as its schema says, wherever they are", () => {
    const bodyOf = (positions: number, others: number) =>
      `{"name":"x","waypoints":[{"coord":[9,47]}],"geometry":[${
        Array.from({ length: positions }, () => "[9,47]").join(",")
      }],"x":[${Array.from({ length: others }, () => "1").join(",")}]}`
    const text = Buffer.from(bodyOf(MAX_POSITIONS, 1))
    assert.strictEqual(Result.isSuccess(read(text)), true)
    assertSame(bodyOf(MAX_POSITIONS + 1, 1))
    const longest = scanPositions(Buffer.from(`[${Array.from({ length: MAX_POSITIONS }, () => "[0,0]").join(",")}]`), 0)
    assert.deepStrictEqual([longest?.values, longest?.line.textAt(MAX_POSITIONS - 1)], [3 * MAX_POSITIONS, "[0,0]"])
    // Each position has three values, and what is around them has eight.
    const most = maxValuesOf(NewRoute) - 3 * 1000 - 8
    for (const others of [most, most + 1]) {
      assertSame(bodyOf(1000, others))
      assert.strictEqual(Result.isSuccess(read(Buffer.from(bodyOf(1000, others)))), others === most)
    }
  })
})

describe("a geometry that is read past the decoder", () => {
  const LINE = "[[1,2],[3,4]]"

  /** A body is counted by its brackets and commas: there are six in the line, and one in the empty array. */
  const TAKEN = 5

  /** Returns what the decoder reads, with the number of values that were taken from it. */
  const decoded = (json: string) => {
    const calls: Array<readonly [text: string, taken: number]> = []
    readerWithLine<{ readonly geometry?: null }>((text, taken) => {
      calls.push([text.toString(), taken])
      return Result.succeed({})
    })(Buffer.from(json))
    return calls
  }

  it("is found wherever the outermost object has it, and is an empty array for the decoder", () => {
    for (
      const [before, after] of [
        [`{"geometry":`, "}"],
        [`{ "geometry" :\n`, " }"],
        [`{"name":"geometry","tags":["geometry"],"geometry":`, "}"],
        [`{"a":{"geometry":[1]},"b":[{}],"geometry":`, `,"c":{"geometry":[[1,2]]}}`],
        [`{"a":"\\"geometry","geometry":`, `,"b":"geometry"}`]
      ]
    ) assert.deepStrictEqual(decoded(`${before}${LINE}${after}`), [[`${before}[]${after}`, TAKEN]])
  })

  it("is left to the decoder where it is not the only one, not of the outermost object, or its name has an escape", () => {
    for (
      const json of [
        `{"geometry":${LINE},"geometry":${LINE}}`,
        `{"a":{"geometry":${LINE}}}`,
        `[{"geometry":${LINE}}]`,
        `{"n\\u0061me":1,"geometry":${LINE}}`,
        `{"geometry":${LINE},"n\\u0061me":"geometry"}`,
        `{"geometry":[[1, 2],[3,4]]}`,
        `{"geometry":null}`,
        `{"name":"geometry"}`
      ]
    ) assert.deepStrictEqual(decoded(json), [[json, 0]])
  })

  it("has no part that begins behind its end", () => {
    const refusedAt = (segments: ReadonlyArray<number> | null, line: WithLine<unknown>["line"]) =>
      Result.match(withSegmentsOnLine({ rest: { segments }, line }), {
        onFailure: (issues) => issues.map(({ path }) => path),
        onSuccess: () => []
      })
    const line = measurePositions([[1, 2], [3, 4]])
    assert.deepStrictEqual(refusedAt([0, 1], line), [])
    assert.deepStrictEqual(refusedAt([0, 2], line), ["segments.1"])
    assert.deepStrictEqual(refusedAt([0, 1], null), ["segments.1"])
    assert.deepStrictEqual(refusedAt([0], null), [])
    assert.deepStrictEqual(refusedAt(null, undefined), [])
  })
})
