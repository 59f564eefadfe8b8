import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as fc from "fast-check"
import { RouteId } from "../../src/schema/Ids.ts"
import { positionsOf } from "../../src/services/collections/Collections.ts"

const idsFrom = (min: number) =>
  fc.uniqueArray(fc.integer({ min, max: min + 60 }).map(Schema.decodeUnknownSync(RouteId)), {
    maxLength: 40
  })

const assertOrder = (members: ReturnType<typeof positionsOf>, wanted: ReadonlyArray<RouteId>) => {
  assert.deepStrictEqual(members.map(({ routeId }) => routeId), wanted)
  members.slice(1).forEach(({ position }, index) => assert.isAbove(position, members[index]?.position ?? Infinity))
}

it("positions follow any order that replaces another", () => {
  fc.assert(fc.property(fc.array(idsFrom(1), { minLength: 1, maxLength: 8 }), (orders) => {
    orders.reduce((current: ReturnType<typeof positionsOf>, wanted) => {
      const members = positionsOf(current, wanted)
      assertOrder(members, wanted)
      return members
    }, [])
  }))
})

it("what stays in its order keeps its positions while others are added and taken out", () => {
  fc.assert(fc.property(idsFrom(1), idsFrom(100), fc.integer({ min: 1, max: 5 }), (ids, others, every) => {
    const current = positionsOf([], ids)
    const stayed = ids.filter((_id, index) => index % every !== 0)
    const wanted = stayed.flatMap((id, index) => others[index] === undefined ? [id] : [id, others[index]])
    const kept = positionsOf(current, wanted).filter(({ routeId }) => stayed.includes(routeId))
    assert.deepStrictEqual(kept, current.filter(({ routeId }) => stayed.includes(routeId)))
  }))
})

it("routes get new positions where two have no room between them, and in the longest collection", () => {
  const ids = Array.from({ length: 1000 }, (_, index) => Schema.decodeUnknownSync(RouteId)(index + 1))
  const crowded = ids.slice(0, 200).reduce(
    (current: ReturnType<typeof positionsOf>, id) =>
      positionsOf(current, current.map(({ routeId }) => routeId).toSpliced(1, 0, id)),
    []
  )
  assert.strictEqual(crowded.length, 200)
  assertOrder(crowded, crowded.map(({ routeId }) => routeId))
  assertOrder(positionsOf(positionsOf([], ids), ids.toReversed()), ids.toReversed())
})

describe("positions of routes", () => {
  const GAP = 1_048_576
  const MAX = 2_147_483_647

  const idOf = Schema.decodeUnknownSync(RouteId)

  /** The current positions are those of the routes 1, 2 and so on. */
  const placed = (current: ReadonlyArray<number>, ...wanted: ReadonlyArray<number>) =>
    positionsOf(
      current.map((position, index) => ({ routeId: idOf(index + 1), position })),
      wanted.map((id) => idOf(id))
    )
      .map(({ position }) => position)

  it("are a gap apart in a new collection, and before the first or behind the last of others", () => {
    assert.deepStrictEqual(placed([], 1, 2, 3), [-3 * GAP, -2 * GAP, -GAP])
    assert.deepStrictEqual(placed([10], 2, 3, 1), [10 - 2 * GAP, 10 - GAP, 10])
    assert.deepStrictEqual(placed([10], 1, 2, 3), [10, 10 + GAP, 10 + 2 * GAP])
  })

  it("are spread evenly between two others, and all from the first on again where these leave no room", () => {
    assert.deepStrictEqual(placed([0, 7], 1, 3, 4, 2), [0, 2, 4, 7])
    assert.deepStrictEqual(placed([10, 13], 1, 3, 4, 2), [10, 11, 12, 13])
    assert.deepStrictEqual(placed([10, 12], 1, 3, 4, 2), [GAP, 2 * GAP, 3 * GAP, 4 * GAP])
  })

  it("stay for as many routes as possible when others move", () => {
    assert.deepStrictEqual(placed([0, 10, 20], 3, 1, 2), [-GAP, 0, 10])
    assert.deepStrictEqual(placed([0, 10, 20, 30], 1, 4, 2, 3), [0, 5, 10, 20])
    assert.deepStrictEqual(placed([0, 10, 20], 1, 3), [0, 20])
  })

  it("stay in the range of an integer", () => {
    assert.deepStrictEqual(placed([MAX - 2 * GAP], 1, 2), [MAX - 2 * GAP, MAX - GAP])
    assert.deepStrictEqual(placed([MAX - 2 * GAP + 1], 1, 2), [GAP, 2 * GAP])
    assert.deepStrictEqual(placed([2 * GAP - MAX], 2, 1), [GAP - MAX, 2 * GAP - MAX])
    assert.deepStrictEqual(placed([2 * GAP - MAX - 1], 2, 1), [GAP, 2 * GAP])
  })
})
