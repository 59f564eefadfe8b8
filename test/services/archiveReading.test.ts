import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import { mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fromBufferPromise } from "yauzl"
import type { ArchivedFile } from "../../src/schema/Archive.ts"
import type { RunJob } from "../../src/services/admission/ImportTurns.ts"
import { checkedArchive, directoryOf, entriesWithin, piecesOf, ReadAhead } from "../../src/services/archive/Zip.ts"
import { InvalidInput } from "../../src/services/DomainErrors.ts"
import { NamelessFile } from "../../src/services/files/Spool.ts"
import { type Files, zipped } from "../support/Archives.ts"
import { archiveOfPacked, deflated } from "../support/Bombs.ts"

interface TemporaryFile {
  readonly path: string
  readonly file: NamelessFile
}

const temporaryFile = (bytes: Uint8Array): Effect.Effect<TemporaryFile, never, Scope.Scope> =>
  Effect.gen(function*() {
    const path = yield* Effect.acquireRelease(
      Effect.sync(() => join(mkdtempSync(join(tmpdir(), "archive-reading-")), "file")),
      (path) => Effect.sync(() => rmSync(join(path, ".."), { recursive: true }))
    )
    writeFileSync(path, bytes)
    const file = yield* Effect.acquireRelease(
      Effect.sync(() => new NamelessFile(openSync(path, "r"), "upload")),
      (file) => file.close()
    )
    return { path, file }
  })

const BYTES = Uint8Array.from({ length: 200_000 }, (_, n) => 1 + n % 251)

describe("the reader of an archive", () => {
  const readAt = (reader: ReadAhead, position: number, length: number) =>
    Effect.callback<ReadonlyArray<number> | string>((resume) => {
      const target = Buffer.alloc(length + 1, 0xff)
      reader.read(target, 1, length, position, (error) => {
        resume(Effect.succeed(error === null ? Array.from(target) : error.message))
      })
    })

  const expectedAt = (position: number, length: number) => [0xff, ...BYTES.subarray(position, position + length)]

  it.effect("gives the bytes at each position, of any length, up to the end of the file", () =>
    Effect.gen(function*() {
      const { file } = yield* temporaryFile(BYTES)
      const reader = new ReadAhead(file.descriptor)
      const reads: ReadonlyArray<readonly [position: number, length: number]> = [
        [0, 1],
        [5, 10],
        [4, 10],
        [70_000, 65_536],
        [70_000, 65_537],
        [69_999, 3],
        [199_990, 10],
        [199_999, 1],
        [10, 150_000]
      ]
      for (const [position, length] of reads) {
        assert.deepStrictEqual(yield* readAt(reader, position, length), expectedAt(position, length), `${position}`)
      }
      assert.strictEqual(yield* readAt(reader, 199_990, 11), "unexpected EOF")
    }))

  it.effect("reads 64 KiB ahead, and only once", () =>
    Effect.gen(function*() {
      const { file, path } = yield* temporaryFile(BYTES)
      const reader = new ReadAhead(file.descriptor)
      yield* readAt(reader, 100, 1)
      truncateSync(path)
      for (const [position, length] of [[100, 65_536], [65_635, 1]] as const) {
        assert.deepStrictEqual(yield* readAt(reader, position, length), expectedAt(position, length))
      }
      for (const [position, length] of [[99, 1], [100, 65_537], [65_636, 1]] as const) {
        assert.strictEqual(yield* readAt(reader, position, length), "unexpected EOF")
      }
      assert.deepStrictEqual(yield* readAt(reader, 100, 1), expectedAt(100, 1))
    }))

  it.effect("streams a range in pieces of at most 64 KiB, of a file that became shorter as far as it goes", () =>
    Effect.gen(function*() {
      const { file, path } = yield* temporaryFile(BYTES)
      const reader = new ReadAhead(file.descriptor)
      const piecesBetween = (start: number, end: number) =>
        Effect.promise(async () => {
          const stream = reader._readStreamForRange(start, end)
          assert.isFalse(stream.readableObjectMode)
          const pieces: Array<Uint8Array> = []
          for await (const piece of stream) pieces.push(piece)
          return pieces
        })
      for (const [start, end] of [[0, 200_000], [1, 65_537], [100_000, 100_001], [5, 5]] as const) {
        const pieces = yield* piecesBetween(start, end)
        assert.isTrue(Buffer.concat(pieces).equals(BYTES.subarray(start, end)), `${start}`)
        assert.isTrue(pieces.every(({ length }) => length <= 65_536))
      }
      truncateSync(path, 70_001)
      assert.isTrue(Buffer.concat(yield* piecesBetween(4, 200_000)).equals(BYTES.subarray(4, 70_001)))
    }))
})

describe("a text of an archive", () => {
  it("comes in pieces of 65,536 code units, and of one less where that keeps a pair of surrogates whole", () => {
    const lengthsOf = (text: string) => [...piecesOf(text)].map(({ length }) => length)
    const texts: ReadonlyArray<readonly [text: string, lengths: ReadonlyArray<number>]> = [
      ["", []],
      ["a", [1]],
      ["a".repeat(65_536), [65_536]],
      ["a".repeat(65_537), [65_536, 1]],
      ["a".repeat(131_072), [65_536, 65_536]]
    ]
    for (const [text, lengths] of texts) assert.deepStrictEqual(lengthsOf(text), lengths)
    for (const pair of ["\u{10000}", "\u{10ffff}"]) {
      assert.deepStrictEqual(lengthsOf(`${"a".repeat(65_534)}${pair}b`), [65_536, 1])
      assert.deepStrictEqual(lengthsOf(`${"a".repeat(65_535)}${pair}b`), [65_535, 3])
      assert.deepStrictEqual(lengthsOf(`${"a".repeat(65_535)}${pair.slice(0, 1)}`), [65_536])
    }
  })
})

/** Returns an archive of empty files with comments and further fields of these lengths, as far as its directory. */
const directoryWith = (
  lengths: ReadonlyArray<readonly [name: number, extra: number, comment: number]>,
  count = lengths.length
) => {
  const headers = lengths.map(([name, extra, comment], index) => {
    const header = Buffer.alloc(46 + name + extra + comment, "n")
    header.fill(0, 0, 46)
    header.writeUInt32LE(0x02014b50)
    header.writeUInt16LE(name, 28)
    header.writeUInt16LE(extra, 30)
    header.writeUInt16LE(comment, 32)
    header.write(String(index).padStart(5, "0"), 46)
    // The field is of no known kind, and its length does not count its own four bytes.
    if (extra > 0) header.writeUInt16LE(extra - 4, 46 + name + 2)
    return header
  })
  const directory = Buffer.concat(headers)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(directory.length, 12)
  return Buffer.concat([directory, end])
}

describe("the directory of an archive", () => {
  const namesIn = Effect.fnUntraced(function*(bytes: Buffer) {
    const { file } = yield* temporaryFile(bytes)
    return yield* Effect.promise(async () => {
      const zip = await fromBufferPromise(bytes)
      return directoryOf(file, zip).then(({ names }) => names.length, (error: unknown) => String(error))
    })
  })

  const countOf = (bytes: Buffer) =>
    Effect.promise(async () => {
      const state = { count: 0 }
      try {
        for await (const _ of entriesWithin(await fromBufferPromise(bytes))) state.count++
        return state.count
      } catch (error) {
        return String(error)
      }
    })

  it.effect("has at most 16 MiB of names, further fields and comments, and at most 50,000 files", () =>
    Effect.gen(function*() {
      // These 128 have 128 bytes less than 16 MiB.
      const full = Array.from({ length: 128 }, () => [5, 65_535, 65_531] as const)
      assert.strictEqual(yield* countOf(directoryWith([...full, [5, 100, 23]])), 129)
      assert.strictEqual(
        yield* countOf(directoryWith([...full, [5, 100, 24]])),
        "Error: its directory has more than 16777216 bytes"
      )
      assert.notInclude(String(yield* countOf(directoryWith([], 50_000))), "more than")
      assert.strictEqual(yield* countOf(directoryWith([], 50_001)), "Error: it has more than 50000 files")
    }))

  it.effect("has no name twice, and no name that leads out of the archive", () =>
    Effect.gen(function*() {
      const twice = Buffer.from(yield* zipped([["a", "1"], ["b/", ""], ["a", "2"]]))
      assert.strictEqual(yield* namesIn(twice), "Error: it has a twice")
      const backslash = Buffer.from(yield* zipped([["aXb", "1"]]))
      for (let at = backslash.indexOf("aXb"); at !== -1; at = backslash.indexOf("aXb", at)) backslash[at + 1] = 0x5c
      assert.match(String(yield* namesIn(backslash)), /invalid characters in fileName/)
      assert.strictEqual(yield* namesIn(Buffer.from(yield* zipped([["a", "1"], ["b/", ""], ["b/c", "2"]]))), 2)
    }))
})

describe("an archive of an account", () => {
  const run: RunJob = (job, input) => Effect.promise(async () => job.run(input))

  const PROFILE = JSON.stringify({ preferences: null, privacyZones: [] })

  const NONE = { routes: 0, collections: 0, tokens: 0, sessions: 0 }

  const manifestOf = (files: ReadonlyArray<ArchivedFile>, counts = NONE) =>
    JSON.stringify({
      format: "route-planning-service/account",
      version: 1,
      createdAt: "now",
      counts,
      changedMeanwhile: [],
      files
    })

  /** Returns an archive of the files, with the digests of what its manifest says that they are. */
  const archiveWith = (files: Files, counts = NONE, said = files) => {
    const described = Object.entries(said).map(([name, text]) => ({
      name,
      size: Buffer.byteLength(text),
      sha256: createHash("sha256").update(text).digest("hex")
    }))
    return zipped([...Object.entries(files), ["manifest.json", manifestOf(described, counts)]])
  }

  const FILES = { "profile.json": PROFILE, "routes.json": "[\n]\n", "collections.json": "[\n]\n" }

  const opened = Effect.fnUntraced(function*(bytes: Uint8Array) {
    const { file } = yield* temporaryFile(bytes)
    return yield* checkedArchive(file, run)
  })

  const problemOf = <A>(work: Effect.Effect<A, unknown, Scope.Scope>) =>
    Effect.map(Effect.flip(work), (error) => error instanceof InvalidInput ? error.message : String(error))

  it.effect("is read where it has all files of its manifest, as long as that says", () =>
    Effect.gen(function*() {
      const counts = { routes: 1, collections: 2, tokens: 3, sessions: 4 }
      const archive = yield* opened(yield* archiveWith(FILES, counts))
      assert.deepStrictEqual(archive.counts, counts)
      assert.deepInclude(yield* archive.profile, JSON.parse(PROFILE))
      const { "profile.json": _, ...others } = FILES
      assert.include(yield* problemOf(opened(yield* archiveWith(others))), "profile.json")
      assert.include(yield* problemOf(opened(yield* zipped(Object.entries(FILES)))), "manifest.json: Expected the file")
    }))

  it.effect("has a profile of at most 8 MiB", () =>
    Effect.gen(function*() {
      const problemWith = Effect.fnUntraced(function*(size: number) {
        const [profile, ...others] = Object.entries(FILES).map(([name, text]) => deflated(name, text))
        const files = profile === undefined ? [] : [{ ...profile, size }, ...others]
        const manifest = manifestOf(files.map(({ name, size }) => ({ name, size, sha256: "0".repeat(64) })))
        return yield* problemOf(
          Effect.flatMap(opened(archiveOfPacked([...files, deflated("manifest.json", manifest)])), ({ profile }) =>
            profile)
        )
      })
      const tooLong = "profile.json: Expected at most 8388608 bytes"
      assert.notInclude(yield* problemWith(8_388_608), tooLong)
      assert.include(yield* problemWith(8_388_609), tooLong)
    }))

  it.effect("is refused where its profile differs from the manifest", () =>
    Effect.gen(function*() {
      const other = yield* opened(yield* archiveWith(FILES, NONE, { ...FILES, "profile.json": PROFILE.toUpperCase() }))
      assert.strictEqual(
        yield* problemOf(other.profile),
        "profile.json: Expected the SHA-256 that the manifest has"
      )
    }))

  it.effect("unpacks to at most 512 MiB, of which the manifest has 16", () =>
    Effect.gen(function*() {
      const { packed } = deflated("", "{}")
      const withSizes = (sizes: Readonly<Record<string, number>>) =>
        problemOf(opened(archiveOfPacked(
          Object.entries(sizes).map(([name, size]) => ({ name, packed, size }))
        )))
      const [routes, collections] = [536_870_000, 912]
      const message = yield* withSizes({ "routes.json": routes, "collections.json": collections })
      assert.include(message, "manifest.json: Expected the file")
      assert.include(
        yield* withSizes({ "routes.json": routes, "collections.json": collections + 1 }),
        "what is read of it unpacks to more than 536870912 bytes"
      )
      const tooLong = "Expected at most 16777216 bytes"
      assert.notInclude(yield* withSizes({ "manifest.json": 16_777_216 }), tooLong)
      assert.include(yield* withSizes({ "manifest.json": 16_777_217 }), tooLong)
    }))
})
