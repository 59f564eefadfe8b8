import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { clientColumns } from "../../src/services/db/Tables.ts"
import { measurePositions } from "../../src/services/geometry/MeasuredPolyline.ts"
import { boxesOf } from "../../src/services/routes/RouteLists.ts"
import {
  boxOf,
  changedValues,
  cueBeyond,
  lineOf,
  requireOwnLine,
  startOf,
  storedBytes,
  valuesWithoutPlace
} from "../../src/services/routes/RouteRow.ts"
import { cueText, readLine, waypointText } from "../../src/services/routes/RouteText.ts"

const LINE = measurePositions([[9.5, 47.1], [9.6, 47.2]])

const WAYPOINTS = [{ coord: [8, 46] }, { coord: [8.5, 46.5] }] as const

const cueAt = (begin_shape_index: number) => ({ instruction: "Ab", type: 8, begin_shape_index, length: 0, time: 0 })

const CUE_TEXT = `[{"instruction":"Ab","type":8,"begin_shape_index":1,"length":0,"time":0}]`

describe("the row of a route", () => {
  it("begins where its line does, else at its first waypoint, else nowhere", () => {
    assert.deepStrictEqual(startOf(LINE, WAYPOINTS), [9.5, 47.1])
    assert.deepStrictEqual(startOf(null, WAYPOINTS), [8, 46])
    assert.deepStrictEqual(startOf(measurePositions([]), WAYPOINTS), [8, 46])
    assert.deepStrictEqual(startOf(undefined, []), [0, 0])
  })

  it("has the box of its line, else of its waypoints", () => {
    assert.strictEqual(boxOf(LINE, WAYPOINTS), "(9.6,47.2),(9.5,47.1)")
    assert.strictEqual(boxOf(null, WAYPOINTS), "(8.5,46.5),(8,46)")
    assert.isNull(boxOf(null, []))
  })

  it("has no cue beyond its last position", () => {
    assert.isUndefined(cueBeyond([cueAt(0), cueAt(1)], 2))
    assert.strictEqual(cueBeyond([cueAt(0), cueAt(2)], 2), 1)
    assert.strictEqual(cueBeyond([cueAt(0)], 0), 0)
    assert.isUndefined(cueBeyond(null, 0))
  })

  it("fails with the cue and the length of the line that it is beyond", () => {
    const failureOf = (change: Parameters<typeof requireOwnLine>[0]) =>
      Effect.runSync(Effect.match(requireOwnLine(change), {
        onFailure: ({ index, positions }) => [index, positions],
        onSuccess: () => "on the line"
      }))
    assert.strictEqual(failureOf({ cues: [cueAt(0), cueAt(1)], geometry: LINE }), "on the line")
    assert.deepStrictEqual(failureOf({ cues: [cueAt(0), cueAt(2)], geometry: LINE }), [1, 2])
    assert.deepStrictEqual(failureOf({ cues: [cueAt(0)], geometry: null }), [0, 0])
    assert.deepStrictEqual(failureOf({ cues: [cueAt(0)] }), [0, 0])
    assert.strictEqual(failureOf({}), "on the line")
  })

  it("measures a line that is not measured yet, and none where there is none", () => {
    assert.strictEqual(lineOf(LINE), LINE)
    assert.deepStrictEqual(lineOf([[9.5, 47.1], [9.6, 47.2]]), LINE)
    assert.isNull(lineOf(null))
    assert.isUndefined(lineOf(undefined))
  })

  it("has the same digest for a repeated body after an upgrade, which may know more members or another order", () => {
    const { name, ...others } = valuesWithoutPlace({ name: "x", waypoints: WAYPOINTS, duration: 7 }, undefined)
    const digestOf = (values: object) => clientColumns("5b0e6d0a-6c38-4c44-8a29-2f0f3f4ad001", values).clientDigest
    assert.strictEqual(
      digestOf({ name, ...others }),
      "c2ef0c7df278b49fc6699a02ac7fec181d9af061bc48002c06d8b3c2ad64c6e3"
    )
    assert.strictEqual(digestOf({ ...others, difficulty: null, name }), digestOf({ name, ...others }))
  })

  it("is private and no favourite by default, and has no empty texts", () => {
    const values = valuesWithoutPlace({ name: "x", waypoints: WAYPOINTS, description: "", surfaces: [] }, undefined)
    assert.deepInclude(values, {
      visibility: "private",
      favourite: false,
      tags: [],
      description: null,
      surfaces: null,
      positionCount: 0,
      geometry: null,
      distance: null,
      cues: null,
      sourceProvider: null
    })
    assert.deepInclude(valuesWithoutPlace({ name: "x", waypoints: [], cues: [cueAt(1)], distance: 7 }, LINE), {
      positionCount: 2,
      geometry: "[[9.5,47.1],[9.6,47.2]]",
      distance: 7,
      cues: CUE_TEXT
    })
  })

  it("counts the UTF-8 of its waypoints, description and cues, and all forms of its line", () => {
    const waypoints = [{ coord: [8, 46], name: "Ä" }] as const
    const texts = `[{"coord":[8,46],"name":"Ä"}]`.length + 1
    assert.strictEqual(storedBytes({ waypoints }, null), texts)
    assert.strictEqual(storedBytes({ waypoints, description: "öö" }, undefined), texts + 4)
    assert.strictEqual(storedBytes({ waypoints, cues: [cueAt(1)] }, undefined), texts + CUE_TEXT.length)
    const { json, polyline6, simplified } = LINE
    assert.strictEqual(storedBytes({ waypoints }, LINE), texts + json.length + simplified.length + polyline6.length)
  })
})

describe("a change of a route", () => {
  it("leaves what it does not name", () => {
    const given = Object.entries(changedValues({})).filter(([, value]) => value !== undefined)
    assert.deepStrictEqual(given, [])
  })

  it("clears what is null or an empty text", () => {
    assert.deepInclude(
      changedValues({
        description: "",
        activity: null,
        tags: null,
        favourite: null,
        source: null,
        cues: null,
        surfaces: []
      }),
      {
        description: null,
        activity: null,
        tags: [],
        favourite: false,
        sourceProvider: null,
        sourceUrl: null,
        cues: null,
        surfaces: null
      }
    )
  })

  it("removes what belonged to the old line with a new one, and measures its distance unless it is given", () => {
    const changed = changedValues({ geometry: LINE })
    assert.deepInclude(changed, { cues: null, surfaces: null, positionCount: 2, distance: LINE.metres })
    assert.deepInclude(changedValues({ geometry: null }), {
      cues: null,
      surfaces: null,
      geometry: null,
      distance: null
    })
    assert.deepInclude(changedValues({ geometry: LINE, distance: 7, cues: [cueAt(1)] }), {
      cues: CUE_TEXT,
      distance: 7
    })
    const surfaces = [{ surface: "gravel", length: 1, share: 1 }]
    const routingPreferences = { surfacePreference: "paved" } as const
    assert.strictEqual(changedValues({ routingPreferences }).routingPreferences, `{"surfacePreference":"paved"}`)
    assert.isNull(changedValues({ routingPreferences: null }).routingPreferences)
    assert.deepInclude(changedValues({ surfaces, favourite: true, tags: ["alps"] }), {
      surfaces: JSON.stringify(surfaces),
      favourite: true,
      tags: ["alps"],
      cues: undefined,
      distance: undefined
    })
  })
})

describe("texts of a route", () => {
  it("have no members that are null, and no empty list of cues", () => {
    assert.strictEqual(
      waypointText([{ coord: [8, 46], name: null, type: null, timestamp: null }, { coord: [8, 47], name: "" }]),
      `[{"coord":[8,46]},{"coord":[8,47],"name":""}]`
    )
    assert.deepStrictEqual([undefined, null, [], [cueAt(1)]].map(cueText), [null, null, null, CUE_TEXT])
  })

  it("are read in pieces as they are at once, whatever their length and blanks", async () => {
    for (const positions of [0, 1, 2, 9000]) {
      const line = Array.from({ length: positions }, (_, index) => [index / 1000, 47, index] as const)
      const text = JSON.stringify(line)
      for (const written of [text, `${text} `, ` ${text}`]) {
        assert.deepStrictEqual(await Effect.runPromise(readLine(written)), line)
      }
    }
  })
})

describe("a viewport", () => {
  it("finds boxes that begin in it or a turn away from it", () => {
    assert.deepStrictEqual(boxesOf({ west: 5, south: 46, east: 10, north: 48 }), [
      "(10,48),(5,46)",
      "(370,48),(365,46)"
    ])
    assert.deepStrictEqual(boxesOf({ west: 5, south: 46, east: 5, north: 48 }), ["(5,48),(5,46)", "(365,48),(365,46)"])
    assert.deepStrictEqual(boxesOf({ west: 170, south: -5, east: -170, north: 5 }), [
      "(190,5),(170,-5)",
      "(-170,5),(-190,-5)"
    ])
  })
})
