import { assert, it } from "@effect/vitest"
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
