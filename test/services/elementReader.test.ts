import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { BadLine, type Element, elementsOf } from "../../src/services/archive/ElementReader.ts"

const chunked = async function*(bytes: Uint8Array, size: number) {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const collected = async (bytes: Uint8Array, size: number, most = 3) => {
  const elements: Array<Element> = []
  for await (const batch of elementsOf(chunked(bytes, size), most)) elements.push(...batch)
  return elements.map(({ json, line }) => ({ line, json: Buffer.from(json).toString() }))
}

const problemOf = (text: string | Uint8Array) => {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text
  return Effect.promise(() =>
    collected(bytes, 65_536).then(
      () => "none",
      (error: unknown) => error instanceof BadLine ? `${error.line}: ${error.message}` : "another"
    )
  )
}

describe("an array with one element a line", () => {
  it.effect("is read the same however it comes in pieces", () =>
    Effect.gen(function*() {
      const bytes = new TextEncoder().encode("[\r\n\uFEFF\v{\"ä\":1},\r\n\"🚲\",\u3000\n3\n]\u00A0\n")
      for (const size of [1, 2, 3, 5, 100]) {
        assert.deepStrictEqual(yield* Effect.promise(() => collected(bytes, size)), [
          { line: 2, json: "{\"ä\":1}" },
          { line: 3, json: "\"🚲\"" },
          { line: 4, json: "3" }
        ])
      }
    }))

  it.effect("is refused at the line that is no UTF-8, or too long", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* problemOf(new Uint8Array([0x5b, 10, 0xff, 10])), "2: Expected valid UTF-8")
      const long = new Uint8Array(11 * 1024 * 1024).fill(0x31)
      assert.strictEqual(yield* problemOf(long), "1: Expected a line of at most 10485760 bytes")
    }))

  it.effect("is refused at the line that is no element, and at the first element too many", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [text: string, problem: string]> = [
        ["[\n]", "none"],
        ["[\n]\n", "none"],
        ["[\n1\n]\r\n", "none"],
        ["", "1: Expected [ on a line of its own"],
        ["\n[\n]", "1: Expected [ on a line of its own"],
        ["[\n1,\n\n2\n]", "3: Expected an element"],
        ["[\n1,\n[\n2\n]", "3: Expected an element"],
        ["[\n1\n]\n]", "4: Expected nothing after the array"],
        ["[\n1\n]\n\n", "5: Expected nothing after the array"],
        ["[\n1\n2", "3: Expected ] on a line of its own"],
        ["[\n1\n", "3: Expected an element"],
        ["[\n1,\n2,\n3,\n4,\n", "5: Expected 3 elements, as the manifest says"]
      ]
      for (const [text, problem] of cases) assert.strictEqual(yield* problemOf(text), problem, text)
    }))
})
