import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { padLine } from "../../src/services/archive/Padding.ts"
import { piecesOf } from "../../src/services/archive/TextPieces.ts"
import { type FileWriter, zipOf } from "../../src/services/archive/ZipWriter.ts"
import { unzipped } from "../support/Archives.ts"

const MIB = 1024 * 1024

describe("a file of an archive", () => {
  it.effect("takes no more of a long text than its reader makes room for, and has all of it in the end", () =>
    Effect.gen(function*() {
      // The pairs of surrogates begin at odd and at even positions, so that some lie across the end of a piece.
      const text = Array.from({ length: 256 }, (_, n) => `${n}🚲🚲🚲${randomBytes(8192).toString("hex")}`).join("")
      assert.isAbove(text.length, 4 * MIB)
      const writer = yield* Deferred.make<FileWriter>()
      const archive = zipOf((add) =>
        add("text", (file) => Effect.andThen(Deferred.succeed(writer, file), file.put(text)))
      )
      const beforeFirst = Effect.gen(function*() {
        const { packed } = yield* Deferred.await(writer)
        yield* Effect.yieldNow.pipe(Effect.repeat({ until: () => packed().size > 0 }))
        assert.isBelow(packed().size, text.length / 4)
      })
      const chunks = yield* archive.pipe(
        Stream.mapEffect((chunk, index) => index === 0 ? Effect.as(beforeFirst, chunk) : Effect.succeed(chunk)),
        Stream.runCollect
      )
      assert.deepStrictEqual(yield* unzipped(Buffer.concat(chunks)), { text })
    }))
})

/** The padding of a line in the pieces that it is put in, and how often the event loop turned meanwhile. */
const padded = Effect.fnUntraced(function*(line: string) {
  const pieces: Array<string> = []
  const seen = { turns: 0 }
  const other = Effect.forever(
    Effect.callback<void>((resume) => {
      setImmediate(() => {
        seen.turns++
        resume(Effect.void)
      })
    })
  )
  const file = {
    size: Buffer.byteLength(line),
    bytes: Stream.fromIterable(piecesOf(line), { chunkSize: 1 }).pipe(Stream.encodeText)
  }
  yield* Effect.raceFirst(padLine(file, (text) => Effect.sync(() => pieces.push(text))), other)
  return { pieces, turns: seen.turns }
})

describe("the padding of a line", () => {
  it.effect("is a blank for each bit of a digest that has one for each five bytes of the line", () =>
    Effect.gen(function*() {
      for (const line of ["{}", `{"name":"🚲"}`, JSON.stringify(Array.from({ length: 50_000 }, (_, n) => [n, 47]))]) {
        const outputLength = Math.ceil(Buffer.byteLength(line) / 40)
        const digest = createHash("shake256", { outputLength }).update(line).digest()
        const text = (yield* padded(line)).pieces.join("")
        assert.strictEqual(text.length, 8 * outputLength)
        digest.forEach((byte, index) => {
          const blanks = text.slice(8 * index, 8 * index + 8)
          const bits = Array.from({ length: 8 }, (_, bit) => ((byte >> bit) & 1) === 1 ? "\t" : " ")
          assert.strictEqual(blanks, bits.join(""))
        })
      }
    }))

  it.effect("of 10 MiB lets the event loop turn between pieces of 64 KiB", () =>
    Effect.gen(function*() {
      const { pieces, turns } = yield* padded("[0,0],".repeat(10 * MIB / 6))
      assert.isAtMost(Math.max(...pieces.map(({ length }) => length)), 65_536)
      // To be woken takes the one that counts a turn of its own.
      assert.isAtLeast(turns, 10 * MIB / 65_536 / 2 - 1)
    }))
})
