import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { fromFdPromise } from "yauzl"
import { readManifest, readRoutes } from "../../src/services/archive/Lists.ts"
import { directoryOf } from "../../src/services/archive/Zip.ts"
import { namelessFile } from "../../src/services/files/Spool.ts"
import { signedIn } from "../../test/support/Actors.ts"
import { exported, type Files, imported, manifestOf, sealed, unzipped, zipped } from "../../test/support/Archives.ts"
import { costOf, leastTurnOf, processorTimeOf } from "../../test/support/ProcessorTime.ts"
import { newRoute } from "../../test/support/Routes.ts"
import { TestServer } from "../../test/support/TestServer.ts"

const MIB = 1024 * 1024

/** What a request may take of the event loop at a time, in milliseconds of its thread. */
const MAX_TURN = 50

const ownFiles = Effect.gen(function*() {
  const rider = yield* signedIn
  yield* rider.post("/routes", newRoute({ name: "first" }))
  return yield* unzipped((yield* exported(rider)).bytes)
})

const position = (index: number) => [
  Number((9 + index / 100_000).toFixed(6)),
  Number((47 + Math.sin(index / 999)).toFixed(6)),
  411.5
]

/** The text of a line of `routes.json`, with a geometry of so many positions. */
const lineOf = (files: Files, origin: number, positions: number) => {
  const [, line = ""] = (files["routes.json"] ?? "").split("\n")
  const geometry = Array.from({ length: positions }, (_, index) => position(index))
  return line
    .replace(/"origin":"\w+"/, `"origin":"${origin.toString(16).padStart(32, "0")}"`)
    .replace("{", () => `{"geometry":${JSON.stringify(geometry)},`)
}

const archiveOf = (files: Files, lines: ReadonlyArray<string>) =>
  sealed({ ...files, "routes.json": `[\n${lines.join(",\n")}\n]\n` }, {
    counts: { routes: lines.length, collections: 0, tokens: 0, sessions: 0 }
  })

/** Imported by somebody new. */
const importedByOne = (archive: Uint8Array) => Effect.flatMap(signedIn, (rider) => imported(rider, archive))

layer(TestServer.layer())("an archive that is much work", (it) => {
  it.effect(
    "with a route of 100,000 positions holds up others for less than a third of what reading it takes",
    () =>
      Effect.gen(function*() {
        const files = yield* ownFiles
        const line = lineOf(files, 1, 100_000)
        const archive = yield* archiveOf(files, [line])
        const [atOnce] = processorTimeOf(() =>
          readRoutes.job.run({ first: 2, bytes: Buffer.from(line), ends: [Buffer.byteLength(line)] })
        )
        const bound = Math.min(atOnce / 3, MAX_TURN)
        const { longest, value } = yield* leastTurnOf(importedByOne(archive), bound)
        assert.strictEqual(value.status, 201)
        assert.isBelow(longest, bound)
      }),
    60_000
  )

  it.effect(
    "with 15,000 files holds up others for less than half of what reading its manifest takes",
    () =>
      Effect.gen(function*() {
        const files = yield* ownFiles
        const more = Object.fromEntries(
          Array.from({ length: 15_000 }, (_, index) => [`routes/${index}-with-a-long-name.gpx`, ""])
        )
        const archive = yield* sealed({ ...files, ...more })
        const names = Object.keys({ ...files, ...more })
        const manifest = {
          ...manifestOf(files),
          files: names.map((name) => ({ name, size: 0, sha256: "0".repeat(64) }))
        }
        const bytes = new TextEncoder().encode(JSON.stringify(manifest)).buffer
        const [atOnce] = processorTimeOf(() => readManifest.run({ bytes, names, sizes: names.map(() => 0) }))
        const bound = Math.min(atOnce / 2, MAX_TURN)
        const { longest, value } = yield* leastTurnOf(importedByOne(archive), bound)
        assert.strictEqual(value.status, 201)
        assert.isBelow(longest, bound)
      }),
    60_000
  )

  it.effect(
    "that is 64 MiB of zeros delays no other request while it arrives and is refused",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const { origin } = yield* TestServer
        const piece = new Uint8Array(65_536)
        // In pieces: the client is in this thread too, and would take 0.1 s of it to send all at once.
        const sent = Effect.promise(async () => {
          const response = await fetch(`${origin}/api/v1/users/me/import`, {
            method: "POST",
            headers: { cookie: rider.cookie, "content-type": "application/zip" },
            body: ReadableStream.from(Array.from({ length: 64 * MIB / piece.length }, () => piece)),
            duplex: "half"
          })
          return { status: response.status, text: await response.text() }
        })
        const { longest, value } = yield* leastTurnOf(sent, MAX_TURN)
        assert.strictEqual(value.status, 400)
        assert.include(value.text, "The archive cannot be read: End of central directory record signature not found")
        assert.isBelow(longest, MAX_TURN)
      }),
    60_000
  )

  it.effect("with many files has its directory read for less than two thirds of what a read for each of them costs", () =>
    Effect.gen(function*() {
      const bytes = yield* zipped(Array.from({ length: 10_000 }, (_, index) => [`routes/${index}.gpx`, ""]))
      const file = yield* namelessFile("upload")
      yield* file.append(bytes)
      const open = Effect.promise(() => fromFdPromise(file.descriptor, { autoClose: false }))
      const eachAlone = Effect.flatMap(open, (zip) =>
        Effect.promise(async () => {
          const names = []
          for await (const { fileName } of zip.eachEntry()) names.push(fileName)
          return names
        }))
      const ahead = Effect.flatMap(open, (zip) => Effect.promise(() => directoryOf(file, zip)))
      yield* ahead
      const expected = yield* costOf(eachAlone)
      const { inAll, value } = yield* costOf(ahead)
      assert.deepStrictEqual(value.names, expected.value)
      assert.isBelow(inAll, expected.inAll * 2 / 3)
    }))
})
