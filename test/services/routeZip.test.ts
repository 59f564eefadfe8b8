import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { openSync, rmSync, writeFileSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { deflateRawSync, gzipSync } from "node:zlib"
import { routeZip, type ZippedFile } from "../../src/services/archive/RouteZip.ts"
import { NamelessFile } from "../../src/services/files/Spool.ts"
import { zipped } from "../support/Archives.ts"
import { archiveOfPacked, deflated } from "../support/Bombs.ts"

const MOST = 8_589_934_592

const opened = Effect.fnUntraced(function*(bytes: Uint8Array) {
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "route-zip-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  )
  writeFileSync(join(directory, "file"), bytes)
  const file = yield* Effect.acquireRelease(
    Effect.sync(() => new NamelessFile(openSync(join(directory, "file"), "r"), "upload")),
    (file) => file.close()
  )
  return yield* routeZip(file, { share: Effect.succeed(() => Effect.void) })
})

const outcomeOf = ({ bytes, name }: ZippedFile) =>
  Effect.match(bytes, {
    onFailure: ({ message }) => `${name}: ${message}`,
    onSuccess: (bytes) => `${name}= ${Buffer.from(bytes).toString()}`
  })

/** Returns each file of an archive with its text, or why it has none. */
const outcomesOf = Effect.fnUntraced(function*(bytes: Uint8Array) {
  const { files } = yield* opened(bytes)
  return yield* Stream.runCollect(Stream.mapEffect(files, outcomeOf))
})

const CENTRAL = Buffer.from([0x50, 0x4b, 0x01, 0x02])

/** Changes the central header of the only file of an archive. */
const withHeader = (zip: Uint8Array, change: (header: Buffer) => void) => {
  const bytes = Buffer.from(zip)
  change(bytes.subarray(bytes.indexOf(CENTRAL)))
  return bytes
}

/** Returns an archive of a file that says that it has this many bytes, compressed and uncompressed. */
const saying = (compressed: number, uncompressed: number) =>
  withHeader(archiveOfPacked([deflated("a.gpx", "abc")]), (header) => {
    header.writeUInt32LE(compressed, 20)
    header.writeUInt32LE(uncompressed, 24)
  })

const TOO_LONG = "a.gpx: it has more than 33554432 bytes"

describe("a ZIP of route files", () => {
  it.effect("has its files in their order, those of a nested one in its place, and none for a folder", () =>
    Effect.gen(function*() {
      const nested = Buffer.from(yield* zipped([["b.gpx", "b"], ["c.zip", "c"]]))
      const bytes = yield* zipped([["a.gpx", "a"], ["x/", ""], [".hidden", ""], ["in.zip", nested], [
        "d.gz",
        gzipSync("d")
      ]])
      const zip = yield* opened(bytes)
      assert.deepStrictEqual([zip.count, zip.isOwn], [3, false])
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.mapEffect(zip.files, outcomeOf)), [
        "a.gpx= a",
        "in.zip/b.gpx= b",
        "in.zip/c.zip: an archive in a nested archive is not read",
        "d.gz= d"
      ])
    }))

  it.effect("is an export with one of its files at the root, or with both in the folder of all", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [names: ReadonlyArray<string>, isOwn: boolean]> = [
        [["a.gpx", "routes.json"], true],
        [["x/a.gpx", "x/routes.json"], false],
        [["x/a.gpx", "x/routes.json", "x/manifest.json"], true],
        [["x/routes.json", "x/manifest.json", "y/a.gpx"], false],
        [["x/y/routes.json", "x/y/manifest.json"], false]
      ]
      for (const [names, isOwn] of cases) {
        const zip = yield* opened(yield* zipped(names.map((name) => [name, "x"] as const)))
        assert.strictEqual(zip.isOwn, isOwn, names.join())
      }
    }))

  it.effect("finds 100 files by their name at most", () =>
    Effect.gen(function*() {
      const { packed, size } = deflated("", "x")
      const names = Array.from({ length: 102 }, (_, n) => `${n}.json`)
      const { find } = yield* opened(archiveOfPacked(["a.gpx", ...names].map((name) => ({ name, packed, size }))))
      const found = yield* find((name) => name.endsWith(".json"))
      assert.deepStrictEqual(found.map(({ name }) => name), names.slice(0, 100))
      assert.deepStrictEqual(yield* Effect.forEach(found.slice(0, 1), outcomeOf), ["0.json= x"])
    }))

  it.effect("has files of at most 32 MiB each, compressed or not, and a wrong size stops no other", () =>
    Effect.gen(function*() {
      const most = 33_554_432
      for (const [compressed, uncompressed] of [[most + 1, 3], [5, most + 1]] as const) {
        assert.deepStrictEqual(yield* outcomesOf(saying(compressed, uncompressed)), [TOO_LONG])
      }
      for (const [compressed, uncompressed] of [[most, 3], [5, most]] as const) {
        assert.notDeepEqual(yield* outcomesOf(saying(compressed, uncompressed)), [TOO_LONG])
      }
      const stored = withHeader(
        archiveOfPacked([{ name: "a.gpx", packed: Buffer.from("abc"), size: 2 }, deflated("b.gpx", "b")]),
        (header) => header.writeUInt16LE(0, 10)
      )
      const [first, second] = yield* outcomesOf(stored)
      assert.strictEqual(
        first,
        "a.gpx: The file cannot be read: it has not the 2 bytes that the directory of the archive says"
      )
      assert.strictEqual(second, "b.gpx= b")
      const found = yield* (yield* opened(stored)).find((name) => name === "a.gpx")
      assert.deepStrictEqual(yield* Effect.forEach(found, outcomeOf), [first])
      const whole = withHeader(
        archiveOfPacked([{ name: "a.gpx", packed: Buffer.from("abc"), size: 3 }]),
        (header) => header.writeUInt16LE(0, 10)
      )
      assert.deepStrictEqual(yield* outcomesOf(whole), ["a.gpx= abc"])
    }))

  it.effect("unpacks to 8 GiB at most, with what its files unpack to, and nothing after one that has no room", () =>
    Effect.gen(function*() {
      const bytes = yield* zipped([["a.gpx", "abc"], ["b.gpx", ""], ["c.gpx", "c"]])
      const full = `the files before it unpack to ${MOST} bytes, the most of an archive`
      const outcomesAfter = Effect.fnUntraced(function*(spent: number) {
        const { files, spend } = yield* opened(bytes)
        yield* spend(spent)
        return yield* Stream.runCollect(Stream.mapEffect(files, outcomeOf))
      })
      assert.deepStrictEqual(yield* outcomesAfter(MOST - 4), ["a.gpx= abc", "b.gpx= ", "c.gpx= c"])
      assert.deepStrictEqual(yield* outcomesAfter(MOST - 3), ["a.gpx= abc", "b.gpx= ", `c.gpx: ${full}`])
      assert.deepStrictEqual(yield* outcomesAfter(MOST - 2), [`a.gpx: ${full}`, "b.gpx= ", `c.gpx: ${full}`])
    }))

  it.effect("is read by programs of any system, but for symbolic links of Unix and names that lead out", () =>
    Effect.gen(function*() {
      const archive = (system: number, mode: number) =>
        withHeader(archiveOfPacked([deflated("a.gpx", "abc")]), (header) => {
          header.writeUInt16LE(system << 8 | 20, 4)
          header.writeUInt32LE(mode * 0x10000, 38)
        })
      const [link, file] = [0o120777, 0o100644]
      assert.deepStrictEqual(yield* outcomesOf(archive(3, link)), ["a.gpx: it is a symbolic link"])
      for (const [system, mode] of [[3, file], [0, link], [19, link], [6, link]] as const) {
        assert.deepStrictEqual(yield* outcomesOf(archive(system, mode)), ["a.gpx= abc"])
      }
      const bytes = archiveOfPacked([deflated("../a.gpx", "a"), deflated("b.gpx", "b")])
      assert.deepStrictEqual(yield* outcomesOf(bytes), ["../a.gpx: its name leads out of the archive", "b.gpx= b"])
    }))

  it.effect("has nested archives of the size that it says, and gzip that is whole", () =>
    Effect.gen(function*() {
      const nested = Buffer.from(archiveOfPacked([deflated("b.gpx", "b")]))
      const broken = { name: "in.zip", packed: deflateRawSync(nested.subarray(4)), size: nested.length - 4 }
      const bytes = archiveOfPacked([broken, {
        ...deflated("c.gz", "\u001f"),
        packed: deflateRawSync(gzipSync("c")),
        size: 21
      }])
      const longer = { name: "in.zip", packed: deflateRawSync(nested), size: nested.length - 1 }
      assert.match(
        String(yield* outcomesOf(archiveOfPacked([longer]))),
        /^in\.zip: The file cannot be read: too many bytes/
      )
      const [first, second] = yield* outcomesOf(bytes)
      assert.match(first ?? "", /^in\.zip: The archive cannot be read/)
      assert.strictEqual(second, "c.gz= c")
    }))
})
