import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  BadLine,
  elementsOf,
  readCollections,
  readManifest,
  readProfile,
  readRoutes
} from "../../src/services/archive/Lists.ts"

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

  it.effect("comes in batches of 100 elements, or of those that reach 1 MiB, and none is empty", () =>
    Effect.gen(function*() {
      const countsOf = (sizes: ReadonlyArray<number>) =>
        Effect.promise(async () => {
          const lines = ["[", ...sizes.map((size) => `${"1".repeat(size)},`), "]"]
          const counts: Array<number> = []
          for await (
            const { ends } of elementsOf(chunked(new TextEncoder().encode(lines.join("\n")), 65_536), sizes.length)
          ) {
            counts.push(ends.length)
          }
          return counts
        })
      const half = 512 * 1024
      assert.deepStrictEqual(yield* countsOf(Array.from({ length: 201 }, () => 1)), [100, 100, 1])
      assert.deepStrictEqual(yield* countsOf([half, half, 2 * half, 2 * half + 1, 1]), [2, 1, 1, 1])
      assert.deepStrictEqual(yield* countsOf([half - 1, half, 1, half - 1, half, 1]), [3, 3])
      assert.deepStrictEqual(yield* countsOf([]), [])
    }))

  it.effect("may have lines of 10 MiB, the first included", () =>
    Effect.gen(function*() {
      const longest = "1".repeat(10_485_760)
      assert.strictEqual(yield* problemOf(`[\n${longest}\n]`), "none")
      assert.strictEqual(yield* problemOf(`[\n${longest}1\n]`), "2: Expected a line of at most 10485760 bytes")
      assert.strictEqual(yield* problemOf(longest), "1: Expected [ on a line of its own")
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

const ELEMENT = {
  id: 7,
  name: "Way",
  origin: "0123456789abcdef0123456789abcdef",
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  visibility: "private"
}

const COLLECTION = { ...ELEMENT, routeIds: [], others: [] }

const ROUTE = { ...ELEMENT, activity: "walk", provenance: "gpx-import", waypoints: [{ coord: [9, 47] }] }

const elements = (...values: ReadonlyArray<unknown>) => {
  const texts = values.map((value) => Buffer.from(JSON.stringify(value)))
  let end = 0
  return { first: 2, bytes: Buffer.concat(texts), ends: texts.map(({ length }) => end += length) }
}

describe("the elements of an archive", () => {
  it.effect("are read on the lines where they are, and each says what is wrong with it", () =>
    Effect.gen(function*() {
      const given = elements(1, COLLECTION, { ...COLLECTION, name: 7 }, { ...COLLECTION, name: "Other" })
      const { batch, issues, storable } = yield* Effect.promise(async () => readCollections.job.run(given))
      assert.deepStrictEqual(issues.map(({ path }) => path), ["collections.json:2", "collections.json:4.name"])
      assert.deepStrictEqual(storable.map(({ bytes, line }) => [line, bytes]), [[3, 0], [5, 0]])
      const { records, rows } = readCollections.batchIn(batch)
      assert.deepStrictEqual(records.map(({ name }) => name), ["Way", "Other"])
      assert.deepStrictEqual(rows.columns, [])
    }))

  it.effect("of routes have a row, and cues where they have a line for them", () =>
    Effect.gen(function*() {
      const cue = { type: 10, begin_shape_index: 0, length: 0, time: 0, instruction: "Right" }
      const geometry = [[9, 47], [9.1, 47]]
      const given = elements(
        { ...ROUTE, cues: [cue] },
        { ...ROUTE, geometry, cues: [{ ...cue, begin_shape_index: 1 }] },
        { ...ROUTE, geometry, cues: [cue, { ...cue, begin_shape_index: 2 }] }
      )
      const { batch, issues, storable } = yield* Effect.promise(async () => readRoutes.job.run(given))
      assert.deepStrictEqual(
        issues,
        [2, 4].map((line) => ({
          path: `routes.json:${line}.cues.${line / 2 - 1}.begin_shape_index`,
          message: "Expected the index of a position of the geometry"
        }))
      )
      assert.deepStrictEqual(storable.map(({ line }) => line), [3])
      const { records, rows } = readRoutes.batchIn(batch)
      assert.deepStrictEqual(records.map(({ start }) => start), [[9, 47]])
      assert.include(rows.columns, "imported_from")
    }))
})

describe("the manifest of an archive", () => {
  const files = ["profile.json", "routes.json", "collections.json"].map((name, size) => ({
    name,
    size,
    sha256: String(size).repeat(64)
  }))
  const counts = { routes: 1, collections: 2, tokens: 3, sessions: 4 }
  const manifest = {
    format: "route-planning-service/account",
    version: 1,
    createdAt: "now",
    counts,
    changedMeanwhile: [],
    files
  }

  const readWith = (
    given: Readonly<Record<string, unknown>>,
    names: ReadonlyArray<string> = files.map(({ name }) => name),
    sizes: ReadonlyArray<number> = files.map(({ size }) => size)
  ) =>
    Effect.promise(async () =>
      readManifest.run({
        bytes: Uint8Array.from(Buffer.from(JSON.stringify({ ...manifest, ...given }))).buffer,
        names,
        sizes
      })
    )

  const issuesWith = (...[given, names, sizes]: Parameters<typeof readWith>) =>
    Effect.map(
      readWith(given, names, sizes),
      (outcome) => "issues" in outcome ? outcome.issues.map(({ message, path }) => `${path}: ${message}`) : []
    )

  it.effect("has the counts, and the digests of the files that are read", () =>
    Effect.gen(function*() {
      const photo = { name: "photo.jpg", size: 3, sha256: "f".repeat(64) }
      const named = [...files, photo].map(({ name }) => name)
      assert.deepStrictEqual(yield* readWith({ files: [...files, photo] }, named, [0, 1, 2, 3]), {
        value: { counts, digests: new Map(files.map(({ name, sha256 }) => [name, sha256])) }
      })
    }))

  it.effect("names each difference from the files that are there", () =>
    Effect.gen(function*() {
      const [profile, ...others] = files
      assert.deepStrictEqual(yield* issuesWith({ files: [...files, profile] }), [
        "manifest.json.files: Expected each file once"
      ])
      assert.deepStrictEqual(yield* issuesWith({ files: [...files, { ...profile, name: "manifest.json" }] }), [
        "manifest.json.files: Expected each file once"
      ])
      assert.deepStrictEqual(yield* issuesWith({ files: others }), [
        "profile.json: Expected the manifest to name it",
        "profile.json: Expected only files that the manifest names"
      ])
      assert.deepStrictEqual(yield* issuesWith({}, ["routes.json", "collections.json"], [2, 2]), [
        "profile.json: Expected the file, which the manifest names",
        "routes.json: Expected 1 bytes, as the manifest says"
      ])
      assert.deepStrictEqual(yield* issuesWith({}, undefined, [0, 1, 3]), [
        "collections.json: Expected 2 bytes, as the manifest says"
      ])
      assert.deepStrictEqual(yield* issuesWith({ version: 2 }), ["manifest.json.version: Expected 1"])
    }))

  it.effect("and the profile are read with a character in place of bytes that are no UTF-8", () =>
    Effect.gen(function*() {
      const bytes = Uint8Array.from([0x22, 0xff, 0x22]).buffer
      const outcome = yield* Effect.promise(async () => readProfile.run(bytes))
      assert.deepStrictEqual("issues" in outcome ? outcome.issues.map(({ path }) => path) : [], ["profile.json"])
    }))
})
