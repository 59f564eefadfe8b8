import { assert, describe, it } from "@effect/vitest"
import type { RequestedPage } from "../../src/http/request/RequestedPage.ts"
import { checksumTag, jsonPage, sliceOf } from "../../src/http/response/Pagination.ts"
import type { ListPosition, PageOf } from "../../src/schema/Page.ts"

const LIMIT = 10

const page = (asked: Partial<RequestedPage>): RequestedPage => ({
  root: "https://example.com",
  limit: LIMIT,
  offset: 0,
  isByOffset: false,
  cursorAfter: ([value, id]) => `after-${value}-${id}`,
  ...asked
})

/** Returns where each relation of `Link` begins, as `10` or as the text of a cursor. */
const startsOf = (asked: Partial<RequestedPage>, found: Omit<PageOf<number>, "items">) => {
  const { headers } = jsonPage("/api/v1/routes?tag=loop&offset=1&cursor=x", page(asked), { items: [], ...found })
  assert.strictEqual(headers["x-total-count"], String(found.total))
  const links = [
    ...(headers["link"] ?? "").matchAll(/<https:\/\/example\.com\/api\/v1\/routes\?([^>]+)>; rel="(\w+)"/g)
  ]
  return Object.fromEntries(links.map(([, query = "", relation = ""]) => {
    const { limit, tag, ...start } = Object.fromEntries(new URLSearchParams(query))
    assert.deepStrictEqual([limit, tag], [String(LIMIT), "loop"])
    return [relation, Object.values(start).join(" ")]
  }))
}

describe("the links of a page", () => {
  it("by offset count in whole limits from the start, and never lead before the list or behind it", () => {
    const cases: ReadonlyArray<readonly [offset: number, total: number, expected: Readonly<Record<string, string>>]> = [
      [0, 0, { first: "0", last: "0" }],
      [0, 10, { first: "0", last: "0" }],
      [0, 11, { first: "0", next: "10", last: "10" }],
      [0, 25, { first: "0", next: "10", last: "20" }],
      [1, 25, { first: "0", prev: "0", next: "11", last: "20" }],
      [15, 25, { first: "0", prev: "5", last: "20" }],
      [15, 26, { first: "0", prev: "5", next: "25", last: "20" }],
      [20, 25, { first: "0", prev: "10", last: "20" }],
      [100, 25, { first: "0", prev: "20", last: "20" }]
    ]
    for (const [offset, total, expected] of cases) {
      assert.deepStrictEqual(startsOf({ offset, isByOffset: true }, { total }), expected, `${offset} of ${total}`)
    }
  })

  it("go on behind the last item of a page that ended before its limit, but not to the same page", () => {
    const next = (covered: number) => startsOf({ offset: 5, isByOffset: true }, { total: 25, covered })["next"]
    assert.deepStrictEqual([next(3), next(0)], ["8", undefined])
  })

  it("go on by a cursor from the start of a list, and name no other page from there on", () => {
    const found = { total: 25, end: ["b", 7] } as const
    const whole = { first: "0", next: "after-b-7", last: "20" }
    assert.deepStrictEqual(startsOf({}, found), whole)
    assert.deepStrictEqual(startsOf({}, { total: 5 }), { first: "0", last: "0" })
    assert.deepStrictEqual(startsOf({ after: ["a", 1] }, found), { next: "after-b-7" })
    assert.deepStrictEqual(startsOf({ after: ["a", 1] }, { total: 25 }), {})
  })
})

describe("a slice of a list in memory", () => {
  const ids = ([value, id]: ListPosition) => `${value}${id}`

  const positions: ReadonlyArray<ListPosition> = [["a", 1], ["a", 2], ["b", 1], ["c", 3], ["c", 4]]

  const slice = (given: ReadonlyArray<ListPosition>, isDescending: boolean, limit: number, after?: ListPosition) => {
    const { end, items, total } = sliceOf(given, { limit, offset: 0, after }, {
      isDescending,
      positionOf: (position) => position
    })
    assert.strictEqual(total, positions.length)
    return [items.map(ids).join(" "), end === undefined ? "" : ids(end)]
  }

  it("ends with a position only where more follow, and the next begins behind it in either direction", () => {
    assert.deepStrictEqual(slice(positions, false, 2), ["a1 a2", "a2"])
    assert.deepStrictEqual(slice(positions, false, 2, ["a", 2]), ["b1 c3", "c3"])
    assert.deepStrictEqual(slice(positions, false, 1, ["c", 3]), ["c4", ""])
    assert.deepStrictEqual(slice(positions, false, 2, ["c", 4]), ["", ""])
    const reversed = positions.toReversed()
    assert.deepStrictEqual(slice(reversed, true, 2), ["c4 c3", "c3"])
    assert.deepStrictEqual(slice(reversed, true, 2, ["c", 3]), ["b1 a2", "a2"])
    assert.deepStrictEqual(slice(reversed, true, 1, ["a", 2]), ["a1", ""])
    assert.deepStrictEqual(slice(positions, false, 5), ["a1 a2 b1 c3 c4", ""])
  })

  it("begins behind a position whose item is gone", () => {
    assert.deepStrictEqual(slice(positions, false, 1, ["b", 0]), ["b1", "b1"])
    assert.deepStrictEqual(slice(positions, false, 1, ["b", 2]), ["c3", "c3"])
  })

  it("passes over an offset", () => {
    const { end, items } = sliceOf(positions, { limit: 2, offset: 2 }, {
      isDescending: false,
      positionOf: (position) => position
    })
    assert.deepStrictEqual([items.map(ids), end], [["b1", "c3"], ["c", 3]])
  })
})

describe("the entity tag of a list", () => {
  // CRC-32 of these nine digits is the check value in its catalogues.
  it("is its length and its CRC-32, whatever its parts are", () => {
    assert.strictEqual(checksumTag(["123456789"]), "W/\"9-cbf43926\"")
    assert.strictEqual(checksumTag(["123", new Uint8Array(Buffer.from("456789"))]), "W/\"9-cbf43926\"")
    assert.strictEqual(checksumTag(["456789"], "123"), "W/\"6-cbf43926\"")
    assert.match(checksumTag(["x".repeat(36)]), /^W\/"10-/)
  })
})
