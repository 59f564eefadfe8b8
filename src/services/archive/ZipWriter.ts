import type { ZipArchive } from "archiver"
import { DateTime, Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import { PassThrough } from "node:stream"
import type { ArchivedFile } from "../../schema/Archive.ts"
import type { SpooledFile } from "../spool/Spool.ts"
import { piecesOf } from "./TextPieces.ts"

/** A compressor lives until the next full GC: 36 KiB instead of 272, though `npm run bench:export` grows by 13 %. */
const PACKING = { chunkSize: 4096, memLevel: 5, windowBits: 12 }

export interface FileWriter {
  /** Writes a text in pieces, with backpressure, yielding between them. */
  readonly put: (text: string) => Effect.Effect<void>
  readonly send: (file: SpooledFile) => Effect.Effect<void>
}

export type AddFile = (name: string, write: (file: FileWriter) => Effect.Effect<void>) => Effect.Effect<ArchivedFile>

const drained = (source: PassThrough) =>
  Effect.callback<void>((resume) => {
    if (source.writableNeedDrain) source.once("drain", () => resume(Effect.void))
    else resume(Effect.void)
  })

const adding = (archive: ZipArchive, date: Date): AddFile =>
  Effect.fnUntraced(function*(name, write) {
    const hash = createHash("sha256")
    const seen = { size: 0 }
    const source = new PassThrough()
    const packed = new Promise((resolve) => archive.once("entry", resolve))
    archive.append(source, { name, date })
    const putBytes = (bytes: Uint8Array) =>
      Effect.suspend(() => {
        hash.update(bytes)
        seen.size += bytes.length
        return source.write(bytes) ? Effect.yieldNow : drained(source)
      })
    yield* write({
      put: (text) => Effect.forEach(piecesOf(text), (piece) => putBytes(Buffer.from(piece)), { discard: true }),
      send: ({ bytes }) => Stream.runForEach(bytes, putBytes)
    })
    source.end()
    yield* Effect.promise(() => packed)
    return { name, size: seen.size, sha256: hash.digest("hex") }
  })

/** Produced on demand. On failure it ends without the central directory, so that it is no valid archive. */
export const zipOf = (write: (add: AddFile) => Effect.Effect<void>): Stream.Stream<Uint8Array> =>
  Stream.unwrap(Effect.gen(function*() {
    const date = yield* DateTime.nowAsDate
    const { ZipArchive } = yield* Effect.promise(() => import("archiver"))
    const archive = yield* Effect.acquireRelease(
      // An aborted archive emits "error", which would be uncaught without a listener.
      Effect.sync(() => new ZipArchive({ zlib: PACKING }).on("error", () => undefined)),
      (archive) => Effect.sync(() => archive.destroy())
    )
    yield* write(adding(archive, date)).pipe(
      Effect.andThen(Effect.promise(() => archive.finalize())),
      Effect.onError((cause) => Effect.sync(() => archive.destroy(new Error("the archive is given up", { cause })))),
      Effect.forkScoped
    )
    return Stream.orDie(Stream.fromAsyncIterable<Uint8Array, unknown>(archive, (error) => error))
  }))
