import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import * as fc from "fast-check"
import type { Position } from "../../src/schema/Geometry.ts"
import { draftsOf, type TextFormat } from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { NearestPositions } from "../../src/services/files/NearestPositions.ts"
import { readRouteFile } from "../../src/services/files/RouteFile.ts"
import { readLine } from "../../src/services/routes/RouteText.ts"
import { numbers } from "../support/Numbers.ts"

const outcome = (text: string, format: TextFormat): string => {
  const result = Effect.runSync(Effect.result(
    readRouteFile([text], format).pipe(
      Effect.flatMap((file) => draftsOf(file, { split: false, join: true, track: undefined })),
      Effect.flatMap(Effect.forEach(finish))
    )
  ))
  return Result.isFailure(result) ? result.failure.message : "accepted"
}

const listed = (count: number, at: (index: number) => string) => Array.from({ length: count }, (_, index) => at(index))

const point = (index: number) =>
  `<trkpt lat="${47 + index / 1e6}" lon="${9 + index / 1e6}"><ele>${index % 900}</ele></trkpt>`
const track = (points: string) => `<gpx><trk><trkseg>${points}</trkseg></trk></gpx>`
const kmlLine = (coordinates: string) =>
  `<kml><Placemark><LineString><coordinates>${coordinates}</coordinates></LineString></Placemark></kml>`

/**
 * Each of these files once cost far more than its length, and is as long as the limit that refuses it needs. It stands
 * with its format and the message; `npm run bench:hostile` measures the longest.
 */
const FILES: Readonly<Record<string, () => readonly [text: string, format: TextFormat, expected: RegExp]>> = {
  "100,000 points": () => {
    const text = track(listed(100_000, point).join(""))
    return [text, "gpx", /^accepted$/]
  },
  "500,001 empty elements of GPX": () => {
    const count = 500_001
    return [`<gpx>${"<a/>".repeat(count)}</gpx>`, "gpx", /^Expected at most 500000 positions/]
  },
  "500,001 empty elements of KML": () => {
    const count = 500_001
    return [`<kml>${"<a/>".repeat(count)}</kml>`, "kml", /^Expected at most 500000 positions/]
  },
  "one element with 20,000 attributes": () => {
    const names = listed(20_000, (index) => `a${index.toString(36)}`)
    const text = `<gpx ${names.map((name) => `${name}=""`).join(" ")}/>`
    return [text, "gpx", /a tag has more than 65536 characters/]
  },
  "elements with 200 attributes each": () => {
    const tag = `<trkpt ${listed(200, (index) => `a${index}=">"`).join(" ")}/>`
    const text = track(tag.repeat(100))
    return [text, "gpx", /more than 128 attributes/]
  },
  "one tag with 20,000 attributes that have the end of a tag in them": () => {
    const text = `<gpx ${listed(20_000, (index) => `a${index.toString(36)}='>'`).join(" ")}/>`
    return [text, "gpx", /a tag has more than 65536 characters/]
  },
  "200,000 entities": () => {
    const text = `<gpx><name>${"&amp;".repeat(200_000)}</name></gpx>`
    return [text, "gpx", /no points/]
  },
  "100,000 distinct elements": () => {
    const names = listed(100_000, (index) => `<a${index.toString(36)}/>`)
    return [`<gpx>${names.join("")}</gpx>`, "gpx", /no points/]
  },
  "1,000,000 open elements": () => ["<a>".repeat(1_000_000), "gpx", /nesting/],
  "500,001 tuples": () => [
    kmlLine("1,2 ".repeat(500_001)),
    "kml",
    /Expected at most 500000 positions, the file has 500001/
  ],
  "50,000 points in a placemark of 50,000 data": () => {
    const [points, data] = ["<Point/>".repeat(50_000), "<Data/>".repeat(50_000)]
    const text = `<kml><Placemark>${points}<ExtendedData>${data}</ExtendedData></Placemark></kml>`
    return [text, "kml", /no points/]
  },
  "50,000 lines in a feature of 50,000 tags": () => {
    const tags = listed(50_000, () => "\"a\"").join()
    const lines = listed(50_000, () => "{\"type\":\"LineString\"}").join()
    const geometry = `{"type":"GeometryCollection","geometries":[${lines}]}`
    const text = `{"type":"Feature","properties":{"tags":[${tags}]},"geometry":${geometry}}`
    return [text, "geojson", /no points/]
  },
  "2,000,001 empty objects": () => {
    const text = `{"type":"FeatureCollection","features":[${"{},".repeat(2_000_000)}{}]}`
    return [text, "geojson", /at most 2000000 values in all, which are those of 500000 positions/]
  },
  "2,000,001 empty arrays": () => {
    const text = `{"type":"LineString","coordinates":[${"[],".repeat(2_000_000)}[]]}`
    return [text, "geojson", /at most 2000000 values in all, which are those of 500000 positions/]
  },
  "2,000,001 numbers": () => {
    const text = `{"type":"LineString","coordinates":[${"1,".repeat(2_000_000)}1]}`
    return [text, "geojson", /at most 2000000 values in all, which are those of 500000 positions/]
  },
  "100,000 levels": () => {
    const text = `{"type":"LineString","coordinates":${"[".repeat(100_000)}${"]".repeat(100_000)}}`
    return [text, "geojson", /at most 96 levels/]
  },
  "50,000 members": () => {
    const text = `{"properties":{${listed(50_000, (index) => `"m${index.toString(36)}":0`).join()}}}`
    return [text, "geojson", /at most 1000 members/]
  }
}

describe("reading a file", () => {
  for (const [what, fileOf] of Object.entries(FILES)) {
    it(`of ${what} is accepted, or refused with its reason`, () => {
      const [text, format, expected] = fileOf()
      assert.match(outcome(text, format), expected)
    })
  }
})

/** Finds the nearest position by looking at all of them, either way around the Earth, the first of several. */
const nearestOfAll = ([lng, lat]: readonly [number, number], line: ReadonlyArray<Position>): number => {
  const scale = Math.cos(lat * Math.PI / 180)
  const distances = line.map((position) => {
    const degrees = Math.min(...[0, -360, 360].map((turn) => Math.abs(position[0] - (lng + turn))))
    return (degrees * scale) ** 2 + (position[1] - lat) ** 2
  })
  return Math.max(0, distances.indexOf(Math.min(...distances)))
}

const COUNT = 100_000

describe("a stored line", () => {
  it.effect("is parsed in pieces, and others have their turn between them", () =>
    Effect.gen(function*() {
      const line = Array.from({ length: COUNT }, (_, n): Position => [9 + n / COUNT, 47 - n / COUNT, n % 900])
      const text = JSON.stringify(line)
      const others = { turns: 0 }
      yield* Effect.sync(() => others.turns++).pipe(Effect.andThen(Effect.yieldNow), Effect.forever, Effect.forkChild)
      assert.strictEqual(JSON.stringify(yield* readLine(text)), text)
      assert.isAtLeast(others.turns, Math.floor(text.length / 200_000))
    }))

  it.effect("is what JSON.parse makes of it, or unreadable", () =>
    Effect.gen(function*() {
      for (const text of ["[]", "[[1,2]]", "[[1,2],[3,4,5]]", "[ [1, 2], [3, 4] ]"]) {
        assert.deepStrictEqual<unknown>(yield* readLine(text), JSON.parse(text))
      }
      for (const text of ["", "null", "{}", "[[1,2],]", "[[1,2],[3,4]", "[[1,2],[200,0]]", "[[1,2]],[[3,4]]"]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(readLine(text))), text)
      }
    }))
})

describe("a course of TCX", () => {
  it("has each waypoint at the position that is nearest, the first of several", () => {
    const whole = fc.tuple(fc.integer({ min: -180, max: 180 }), fc.integer({ min: -90, max: 90 }))
    const near = fc.tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -3, max: 3 }))
    const exact = fc.tuple(
      numbers(-180, 180),
      numbers(-90, 90)
    )
    for (const position of [whole, near, exact]) {
      fc.assert(
        fc.property(fc.array(position, { maxLength: 400, size: "max" }), fc.array(position), (line, queries) => {
          const nearest = new NearestPositions(line, queries.length)
          for (const query of queries) assert.strictEqual(nearest.indexOf(query), nearestOfAll(query, line))
        })
      )
    }
  })

  it("has them there for a long ride, out and back", () => {
    const out = Array.from(
      { length: 10_000 },
      (_, n): Position => [9 + Math.sin(n / 300) / 9 + n / 1e5, 47 + Math.cos(n / 170) / 9]
    )
    const line = [...out, ...out.toReversed()]
    const queries = line.filter((_, index) => index % 200 === 7).map(([lng, lat]) => [lng + 1e-4, lat] as const)
    const nearest = new NearestPositions(line, queries.length)
    for (const query of queries) assert.strictEqual(nearest.indexOf(query), nearestOfAll(query, line))
  })
})
