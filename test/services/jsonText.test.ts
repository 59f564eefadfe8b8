import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { jsonArray } from "../../src/http/response/ResourceJson.ts"
import { encoded, type JsonPart, lengthOf, piecesOf, textOf, withMembers } from "../../src/services/bodies/JsonText.ts"

/** One in so many characters, or all, take more bytes than one. */
const TEXTS = ["é", "日本", "🚲", "\ud800", "a🚲", "abc".repeat(10) + "é", "plain"]

const texts = fc.array(
  fc.tuple(fc.constantFrom(...TEXTS), fc.integer({ min: 0, max: 2000 })).map(([text, times]) => text.repeat(times))
)

/** The database has the text so: as a view of a longer buffer. */
const bytesOf = (text: string): JsonPart => {
  const bytes = Buffer.from(`<${text}>`)
  return new Uint8Array(bytes.buffer, bytes.byteOffset + 1, bytes.length - 2)
}

const partsOf = (texts: ReadonlyArray<readonly [text: string, isRead: boolean]>) =>
  texts.map(([text, isRead]) => isRead ? bytesOf(text) : text)

describe("JSON in parts", () => {
  it("is encoded whole, whatever its characters take and whether they are UTF-8 already", () => {
    const parts = fc.oneof(texts, fc.array(fc.string({ unit: "grapheme" })))
      .chain((all) => fc.tuple(...all.map((text) => fc.tuple(fc.constant(text), fc.boolean()))))
    fc.assert(fc.property(parts, (given) => {
      const whole = given.map(([text]) => text).join("")
      assert.deepStrictEqual(encoded(partsOf(given)).toString("hex"), Buffer.from(whole).toString("hex"))
      assert.strictEqual(textOf(partsOf(given)).toWellFormed(), whole.toWellFormed())
    }))
  })

  it("is encoded whole where text that takes more bytes than characters leaves no room for what is UTF-8", () => {
    for (const text of TEXTS.map((text) => text.repeat(1000))) {
      for (const given of [[[text, false], [text, true]], [[text, true], [text, false], ["é", true]]] as const) {
        const whole = given.map(([part]) => part).join("")
        assert.strictEqual(encoded(partsOf(given)).toString("hex"), Buffer.from(whole).toString("hex"))
      }
    }
  })

  it("has defined members added to its object, and the length of its parts", () => {
    const members = withMembers(`{"a":1}`, ["b", "2"], ["c", undefined], ["d", ["[", bytesOf("3"), "]"]])
    assert.strictEqual(textOf(members), `{"a":1,"b":2,"d":[3]}`)
    assert.deepStrictEqual([textOf("[]"), textOf(bytesOf("{}")), lengthOf("[1]"), lengthOf(members)], [
      "[]",
      "{}",
      3,
      21
    ])
  })

  it("is sent in one piece up to 1 MiB, with bytes of 8 KiB and more between as they are", () => {
    const lengthsOf = (...parts: ReadonlyArray<JsonPart>) => [...piecesOf(parts)].map(({ length }) => length)
    const mib = "x".repeat(1024 * 1024)
    assert.deepStrictEqual(lengthsOf("a", bytesOf("b"), "c"), [3])
    assert.deepStrictEqual(lengthsOf(mib, "y"), [1024 * 1024 + 1])
    assert.deepStrictEqual(lengthsOf(`${mib}x`, "y"), [1024 * 1024 + 1, 1])
    assert.deepStrictEqual(lengthsOf("a", new Uint8Array(8192), "b"), [1, 8192, 1])
    assert.deepStrictEqual(lengthsOf("a", new Uint8Array(8191), "b"), [8193])
  })

  it.effect("is encoded whole in an array, in one slice and in several", () =>
    Effect.gen(function*() {
      for (const text of TEXTS) {
        for (const length of [10, 600_000]) {
          const item = JSON.stringify(text.repeat(Math.ceil(length / text.length)))
          const expected = Buffer.from(`{"items":[${item},${item},${item},${item}]}`)
          for (const part of [item, Buffer.from(item)]) {
            const pieces = yield* jsonArray([1, 2, 3, 4], () => [part], { before: "{\"items\":", after: "}" })
            assert.isTrue(Buffer.concat(pieces).equals(expected), `${text.slice(0, 5)}, ${length} characters`)
          }
        }
      }
    }))
})
