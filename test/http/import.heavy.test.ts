import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { checkRoutes, readManifest } from "../../src/services/archive/Lists.ts"
import { signedIn } from "../support/Actors.ts"
import { exported, type Files, imported, issuesOf, manifestOf, sealed, unzipped } from "../support/Archives.ts"
import { leastTurnOf, processorTimeOf } from "../support/ProcessorTime.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

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

/** The text of a line of `routes.json`, with a geometry of so many positions and what follows them. */
const lineOf = (files: Files, origin: number, positions: number, last: ReadonlyArray<number> = [9, 47]) => {
  const [, line = ""] = (files["routes.json"] ?? "").split("\n")
  const geometry = [...Array.from({ length: positions - 1 }, (_, index) => position(index)), last]
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
          checkRoutes.run({ first: 2, bytes: Buffer.from(line), ends: [Buffer.byteLength(line)] })
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

  it.effect(
    "with one wrong position in one of many long routes names it, and imports nothing",
    () =>
      Effect.gen(function*() {
        const files = yield* ownFiles
        const rider = yield* signedIn
        const lines = [lineOf(files, 1, 5000), lineOf(files, 2, 5000, [200, 0]), lineOf(files, 3, 5000)]
        const { body, status } = yield* imported(rider, yield* archiveOf(files, lines))
        assert.strictEqual(status, 400)
        assert.deepStrictEqual(issuesOf(body).map(({ path }) => path), ["routes.json:3.geometry.4999"])
        assert.deepStrictEqual((yield* rider.get("/routes")).body, [])
        const again = yield* archiveOf(files, [lines[0] ?? "", lineOf(files, 1, 2)])
        assert.deepStrictEqual(issuesOf((yield* imported(rider, again)).body), [
          { path: "routes.json:3.origin", message: "Expected each origin once" }
        ])
        assert.strictEqual((yield* imported(rider, yield* archiveOf(files, lines.slice(0, 1)))).status, 201)
      }),
    60_000
  )
})
