import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Position } from "../../src/schema/Geometry.ts"
import {
  type DraftFile,
  draftsOf,
  type DraftTrack,
  type DraftWaypoint,
  NOTHING_SAID,
  separate
} from "../../src/services/files/Draft.ts"
import { NOT_RECORDED } from "../../src/services/files/FileValues.ts"
import { finish } from "../../src/services/files/Finish.ts"

/** Returns a list of one item, and how often that was read. */
const watched = <Item>(item: Item) => {
  const state = { reads: 0 }
  const get = () => {
    state.reads++
    return item
  }
  return { list: Object.defineProperty<Array<Item>>([], 0, { enumerable: true, get }), state }
}

const fileOf = (count: number, waypoints: ReadonlyArray<DraftWaypoint>, tags: ReadonlyArray<string>): DraftFile => ({
  ...NOTHING_SAID,
  waypoints,
  tags,
  tracks: Array.from({ length: count }, (_, index): DraftTrack => {
    const line: ReadonlyArray<Position> = [[index, 1], [index, 2]]
    return { ...NOTHING_SAID, ...NOT_RECORDED, segments: [line] }
  }),
  dropped: []
})

const SPRING: DraftWaypoint = { coord: [1, 1], name: "Spring", type: undefined, timestamp: undefined }

describe("a line of many segments", () => {
  it.effect("with too many positions says how many of them are kept", () =>
    Effect.gen(function*() {
      const segment = Array.from({ length: 150 }, (_, at): Position => [at / 1000, at % 2])
      const segments = Array.from({ length: 900 }, () => segment)
      const { document, warnings } = yield* finish({ ...NOTHING_SAID, ...NOT_RECORDED, segments, dropped: [] })
      assert.strictEqual(document.geometry.length, 98_100)
      assert.deepStrictEqual(warnings, [{
        code: "positions_simplified",
        message: "Of 135000 positions the 98100 that shape the line most were kept",
        count: 36_900
      }])
    }))
})

describe("a file of more tracks than its waypoints are shared among", () => {
  it("has its waypoints in none, and does not look through them for each", () => {
    const { list, state } = watched(SPRING)
    const tracks = separate(fileOf(101, list, []))
    assert.deepStrictEqual(tracks.flatMap(({ waypoints }) => waypoints), [])
    assert.strictEqual(state.reads, 0)
  })

  it("copies its members for the track that is chosen alone", () => {
    const { list, state } = watched("ridge")
    const drafts = Effect.runSync(draftsOf(fileOf(101, [SPRING], list), { split: false, join: false, track: 7 }))
    assert.deepStrictEqual(drafts.map(({ segments, tags }) => [segments, tags]), [[[[[7, 1], [7, 2]]], ["ridge"]]])
    assert.strictEqual(state.reads, 1)
  })
})
