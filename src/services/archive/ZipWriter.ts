import { ZipArchive } from "archiver"
import { DateTime, Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import { PassThrough } from "node:stream"
import type { ArchivedFile } from "../../schema/Archive.ts"
import type { SpooledFile } from "../spool/Spool.ts"
import type { Packed } from "./Padding.ts"
import { piecesOf } from "./TextPieces.ts"

/**
 * Each file has a compressor of its own, and its buffer is there until the next full garbage collection: 32 KiB and 4 KiB
 * instead of the usual 256 and 16. The archive of `npm run bench:export` is 13 % longer by it.
 */
const PACKING = { chunkSize: 4096, memLevel: 5, windowBits: 12 }

/** Writes a file of an archive. */
export interface FileWriter {
  /** Writes a text in pieces, between which others run, each when there is room for it; done when there is for the next. */
  readonly put: (text: string) => Effect.Effect<void>
  /** The same of a file that was made before: no more of it than a piece is in memory. */
  readonly send: (file: SpooledFile) => Effect.Effect<void>
  /** How far the file is; of what it is packed in, what has left the packer. */
  readonly packed: () => Packed
}

/** Puts a file at the end of an archive; done when its last byte is packed. */
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
    const start = archive.pointer()
    const putBytes = (bytes: Uint8Array) =>
      Effect.suspend(() => {
        hash.update(bytes)
        seen.size += bytes.length
        return source.write(bytes) ? Effect.yieldNow : drained(source)
      })
    yield* write({
      put: (text) => Effect.forEach(piecesOf(text), (piece) => putBytes(Buffer.from(piece)), { discard: true }),
      send: ({ bytes }) => Stream.runForEach(bytes, putBytes),
      packed: () => ({ size: seen.size, packed: archive.pointer() - start })
    })
    source.end()
    yield* Effect.promise(() => packed)
    return { name, size: seen.size, sha256: hash.digest("hex") }
  })

/**
 * The bytes of a ZIP archive, made as they are taken: nobody works ahead of a slow reader by more than some buffers, and
 * the work ends with its reader. When it fails the bytes end where they are, without the directory that would make an
 * archive of them.
 */
export const zipOf = (write: (add: AddFile) => Effect.Effect<void>): Stream.Stream<Uint8Array> =>
  Stream.unwrap(Effect.gen(function*() {
    const date = yield* DateTime.nowAsDate
    const archive = yield* Effect.acquireRelease(
      // An archive that is given up tells of it, and somebody has to listen.
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
