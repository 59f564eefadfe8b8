import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { BadLine, elementsOf } from "../../src/services/archive/Lists.ts"

const chunked = async function*(bytes: Uint8Array, size: number) {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const collected = async (bytes: Uint8Array, size: number, most = 3) => {
  const elements: Array<{ readonly line: number; readonly json: string }> = []
  for await (const { bytes: texts, ends, first } of elementsOf(chunked(bytes, size), most)) {
    for (const [index, end] of ends.entries()) {
      const json = Buffer.from(texts.subarray(ends[index - 1] ?? 0, end)).toString()
      elements.push({ line: first + index, json })
    }
  }
  return elements
}

const problemOf = (text: string) => {
  const bytes = new TextEncoder().encode(text)
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
      const bytes = new TextEncoder().encode("[\r\n \v{\"ä\":1},\r\n\"🚲\",\t\n3\n] \n")
      for (const size of [1, 2, 3, 5, 100]) {
        assert.deepStrictEqual(yield* Effect.promise(() => collected(bytes, size)), [
          { line: 2, json: "{\"ä\":1}" },
          { line: 3, json: "\"🚲\"" },
          { line: 4, json: "3" }
        ])
      }
    }))

  it.effect("has the numbers of its lines where it comes in several batches", () =>
    Effect.gen(function*() {
      const text = `[\n${Array.from({ length: 250 }, (_, n) => n).join(",\n")}\n]\n`
      const elements = yield* Effect.promise(() => collected(new TextEncoder().encode(text), 100, 250))
      assert.deepStrictEqual(elements, Array.from({ length: 250 }, (_, n) => ({ line: n + 2, json: String(n) })))
    }))

  it.effect("is refused at the line that is too long", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* problemOf("1".repeat(11 * 1024 * 1024)), "1: Expected a line of at most 10485760 bytes")
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
