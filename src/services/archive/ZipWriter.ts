import { ZipArchive } from "archiver"
import { Clock, Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import type { ArchivedFile } from "../../schema/Archive.ts"

/** Puts a file at the end of an archive; done when its last byte is packed. */
export type AddFile = (name: string, content: Stream.Stream<string>) => Effect.Effect<ArchivedFile>

const adding = (archive: ZipArchive, date: Date): AddFile =>
  Effect.fnUntraced(function*(name, content) {
    const hash = createHash("sha256")
    const seen = { size: 0 }
    const bytes = Stream.map(Stream.encodeText(content), (chunk) => {
      hash.update(chunk)
      seen.size += chunk.length
      return chunk
    })
    const source = yield* Effect.acquireRelease(
      Effect.map(Stream.toAsyncIterableEffect(bytes), (iterable) => Readable.from(iterable, { objectMode: false })),
      (source) => Effect.sync(() => source.destroy())
    )
    yield* Effect.callback<void>((resume) => {
      source.once("error", (error) => resume(Effect.die(error)))
      archive.once("entry", () => resume(Effect.void))
      archive.append(source, { name, date })
    })
    return { name, size: seen.size, sha256: hash.digest("hex") }
  }, Effect.scoped)

/**
 * The bytes of a ZIP archive, made as they are taken: nobody works ahead of a slow reader by more than some buffers, and
 * the work ends with its reader. When it fails the bytes end where they are, without the directory that would make an
 * archive of them.
 */
export const zipOf = (write: (add: AddFile) => Effect.Effect<void>): Stream.Stream<Uint8Array> =>
  Stream.unwrap(Effect.gen(function*() {
    const date = new Date(yield* Clock.currentTimeMillis)
    const archive = yield* Effect.acquireRelease(
      // An archive that is given up tells of it, and somebody has to listen.
      Effect.sync(() => new ZipArchive().on("error", () => undefined)),
      (archive) => Effect.sync(() => archive.destroy())
    )
    yield* write(adding(archive, date)).pipe(
      Effect.andThen(Effect.promise(() => archive.finalize())),
      Effect.onError((cause) => Effect.sync(() => archive.destroy(new Error("the archive is given up", { cause })))),
      Effect.forkScoped
    )
    return Stream.orDie(Stream.fromAsyncIterable<Uint8Array, unknown>(archive, (error) => error))
  }))
