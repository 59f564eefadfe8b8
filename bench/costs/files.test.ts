import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Position } from "../../src/schema/Geometry.ts"
import { draftsOf, type TextFormat, type WrittenRoute } from "../../src/services/files/Draft.ts"
import { readRouteFile, writeRouteFile } from "../../src/services/files/RouteFile.ts"
import { coordinatesOf } from "../../src/services/geometry/Geodesy.ts"
import { simplifiedLine } from "../../src/services/geometry/MeasuredPolyline.ts"
import {
  assertWithin,
  fixedBound,
  leastTimeOf,
  parsingBound,
  processorTimeOf
} from "../../test/support/ProcessorTime.ts"

const COUNT = 100_000

const listed = (count: number, text: string) => Array.from({ length: count }, () => text).join()

/** Files whose reading would take long if each of two lists were looked through for each of the other. */
const FILES: Readonly<Record<string, () => readonly [text: string, format: TextFormat, json: string]>> = {
  "200,000 points in a placemark of 200,000 data": () => {
    const [points, data] = ["<Point/>".repeat(200_000), "<Data/>".repeat(200_000)]
    const text = `<kml><Placemark>${points}<ExtendedData>${data}</ExtendedData></Placemark></kml>`
    return [text, "kml", `[${"{\"Point\":{}},".repeat(400_000)}{}]`]
  },
  "100,000 lines in a feature of 100,000 tags": () => {
    const geometry = `{"type":"GeometryCollection","geometries":[${listed(COUNT, "{\"type\":\"LineString\"}")}]}`
    const text = `{"type":"Feature","properties":{"tags":[${listed(COUNT, "\"a\"")}]},"geometry":${geometry}}`
    return [text, "geojson", text]
  }
}

const outcome = (text: string, format: TextFormat) =>
  Effect.runSync(Effect.exit(
    Effect.flatMap(
      readRouteFile([text], format),
      (file) => draftsOf(file, { split: false, join: true, track: undefined })
    )
  ))

describe("reading a file", () => {
  for (const [what, fileOf] of Object.entries(FILES)) {
    it(`of ${what} costs at most ten times JSON.parse of the same, and a second`, () => {
      const [text, format, json] = fileOf()
      const bound = parsingBound(json, 10, 1000)
      assertWithin(leastTimeOf(() => outcome(text, format), bound)[0], bound)
    })
  }
})

const written = (route: WrittenRoute, format: TextFormat) => {
  const pieces = { length: 0 }
  for (const piece of writeRouteFile(route, format)) pieces.length += piece.length
  return pieces.length
}

const lineOf = (at: (index: number) => readonly [number, number]): ReadonlyArray<Position> =>
  Array.from({ length: COUNT }, (_, index) => at(index))

const routeOf = (
  at: (index: number) => readonly [number, number],
  waypointAt: (index: number) => readonly [number, number]
): WrittenRoute => ({
  name: "Long",
  tags: [],
  geometry: lineOf(at),
  waypoints: Array.from({ length: 1000 }, (_, index) => ({ coord: waypointAt(index) }))
})

const ROUTES: Readonly<Record<string, WrittenRoute>> = {
  "along the line": routeOf((n) => [9 + n / COUNT, 47 + Math.sin(n / 999) / 9], (n) => [9 + n / 1000, 47]),
  "in the middle of a circle": routeOf(
    (n) => [Math.cos(n / COUNT * 2 * Math.PI), Math.sin(n / COUNT * 2 * Math.PI)],
    (n) => [n * 1e-12, 0]
  ),
  "beside a line that jumps": routeOf((n) => [n * 7919 % 360 - 180, n * 104_729 % 180 - 90], (n) => [n / 10, n / 20])
}

describe("a course of TCX", () => {
  for (const [where, route] of Object.entries(ROUTES)) {
    it(`of 100,000 positions and 1,000 waypoints ${where} costs less than twice what the same without waypoints does`, () => {
      const [without] = processorTimeOf(() => written({ ...route, waypoints: [] }, "tcx"))
      const bound = 2 * without + 50
      assert.isBelow(leastTimeOf(() => written(route, "tcx"), fixedBound(bound))[0], bound)
    })
  }
})

const LINES: Readonly<Record<string, ReadonlyArray<Position>>> = {
  zigzag: lineOf((index) => [index / COUNT, index % 2]),
  "zigzag that narrows": lineOf((index) => [index / COUNT, (index % 2) * (1 - index / COUNT)]),
  "zigzag across the antimeridian": lineOf((index) => [index % 2 === 0 ? 180 : -180, index / COUNT]),
  spiral: lineOf((index) => [Math.cos(index / 10) * index / COUNT, Math.sin(index / 10) * index / COUNT]),
  "one position": lineOf(() => [9, 47]),
  "two positions in turn": lineOf((index) => [index % 2, 47]),
  lanes: lineOf((index) => [9 + Math.abs(index % 200 - 100) / 1e4, 47 + Math.floor(index / 100) / 1e5])
}

describe("a simplified line", () => {
  for (const [name, line] of Object.entries(LINES)) {
    it(`of a ${name} costs less than ten times its JSON`, () => {
      const bound = parsingBound(JSON.stringify(line), 10, Infinity)
      assertWithin(leastTimeOf(() => simplifiedLine(coordinatesOf(line)), bound)[0], bound)
    })
  }
})
