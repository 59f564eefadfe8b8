import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { randomBytes } from "node:crypto"
import type { ArchivedFile } from "../../src/schema/Archive.ts"
import { zipOf } from "../../src/services/archive/Zip.ts"
import { unzipped } from "../support/Archives.ts"

const MIB = 1024 * 1024

const PIECE_LENGTH = 65_536

describe("a file of an archive", () => {
  it.effect("takes no more of a long text than its reader makes room for, and has all of it in the end", () =>
    Effect.gen(function*() {
      // The pairs of surrogates begin at odd and at even positions, so that some lie across the end of a piece.
      const text = Array.from({ length: 256 }, (_, n) => `${n}🚲🚲🚲${randomBytes(8192).toString("hex")}`).join("")
      assert.isAbove(text.length, 4 * MIB)
      const state = { isWritten: false }
      const archive = zipOf((add) =>
        add("text", (file) =>
          Effect.andThen(
            file.put(text),
            Effect.sync(() => {
              state.isWritten = true
            })
          ))
      )
      // Without backpressure a piece would be written in each of these turns.
      const beforeFirst = Effect.gen(function*() {
        yield* Effect.repeat(Effect.yieldNow, { times: 10 * text.length / PIECE_LENGTH })
        assert.isFalse(state.isWritten)
      })
      const chunks = yield* archive.pipe(
        Stream.mapEffect((chunk, index) => index === 0 ? Effect.as(beforeFirst, chunk) : Effect.succeed(chunk)),
        Stream.runCollect
      )
      assert.deepStrictEqual(yield* unzipped(Buffer.concat(chunks)), { text })
    }))

  it.effect("is described by its size and SHA-256, however it was written", () =>
    Effect.gen(function*() {
      const described: Array<ArchivedFile> = []
      const archive = zipOf((add) =>
        Effect.forEach(["put", "sent"], (name) =>
          Effect.map(
            add(name, ({ put, send }) =>
              name === "put" ? put("abc") : send({ size: 3, bytes: Stream.make(Buffer.from("ab"), Buffer.from("c")) })),
            (file) =>
              described.push(file)
          ), { discard: true })
      )
      yield* Stream.runDrain(archive)
      // FIPS 180-2, B.1.
      const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      assert.deepStrictEqual(described, ["put", "sent"].map((name) => ({ name, size: 3, sha256 })))
    }))
})
