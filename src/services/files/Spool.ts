import { Context, Duration, Effect, Exit, Layer, Scope, Stream } from "effect"
import { close, fstat, open, read, writeFile } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Overloaded, SpoolFull } from "../DomainErrors.ts"
import { settings } from "../operations/SettingsRegistry.ts"

const RETRY_AFTER = Duration.seconds(30)

const full = Effect.suspend(() => Effect.fail(Overloaded.retryAfter("uploads", RETRY_AFTER)))

export type CountBytes = (bytes: number) => Effect.Effect<void, Overloaded>

/** All uploads of this process share this disk space. */
export class ImportDisk extends Context.Service<ImportDisk, {
  /** Counts the bytes of an upload until the scope closes. Fails with `Overloaded` above `IMPORT_DISK_BUDGET`. */
  readonly share: Effect.Effect<CountBytes, never, Scope.Scope>
}>()("route-planning-service/ImportDisk") {
  static readonly layer = Layer.effect(
    ImportDisk,
    Effect.map(settings.IMPORT_DISK_BUDGET, (budget) => {
      const all = { bytes: 0 }
      return ImportDisk.of({
        share: Effect.gen(function*() {
          const own = { bytes: 0 }
          yield* Effect.addFinalizer(() => Effect.sync(() => all.bytes -= own.bytes))
          return (bytes) =>
            Effect.suspend(() => {
              if (all.bytes + bytes > budget) return full
              all.bytes += bytes
              own.bytes += bytes
              return Effect.void
            })
        })
      })
    })
  )
}

type Purpose = "upload" | "download"

const withoutRoom = (purpose: Purpose, error: unknown) =>
  Effect.andThen(
    Effect.logError(`the ${purpose} was not written`, error),
    Effect.fail(new Overloaded({ reason: `${purpose}_disk` }))
  )

const attempt = <A>(purpose: Purpose, work: () => Promise<A>) =>
  Effect.tryPromise(work).pipe(Effect.catch(({ cause }) => withoutRoom(purpose, cause)))

/** The file is unlinked, so that it ends with the process in any case. */
export class NamelessFile {
  readonly descriptor: number
  private readonly purpose: Purpose
  private isOwn = true

  constructor(descriptor: number, purpose: Purpose) {
    this.descriptor = descriptor
    this.purpose = purpose
  }

  giveAway() {
    this.isOwn = false
  }

  /** Not interruptible: the descriptor could belong to another file by then. */
  append(bytes: Uint8Array) {
    return Effect.uninterruptible(attempt(this.purpose, () => promisify(writeFile)(this.descriptor, bytes)))
  }

  /** Returns fewer bytes at the end of the file. Not interruptible, as `append`. */
  read(position: number, length: number) {
    const buffer = Buffer.allocUnsafeSlow(length)
    return Effect.uninterruptible(
      Effect.promise(() => promisify(read)(this.descriptor, buffer, 0, length, position))
    ).pipe(Effect.map(({ bytesRead }) => buffer.subarray(0, bytesRead)))
  }

  get size() {
    return Effect.map(Effect.promise(() => promisify(fstat)(this.descriptor)), ({ size }) => size)
  }

  close() {
    return this.isOwn ? Effect.promise(() => promisify(close)(this.descriptor)) : Effect.void
  }
}

const openNameless = async () => {
  const directory = await mkdtemp(join(tmpdir(), "route-planning-service-"))
  try {
    return await promisify(open)(join(directory, "file"), "wx+", 0o600)
  } finally {
    await rm(directory, { recursive: true })
  }
}

export const OpenFile = Context.Reference<() => Promise<number>>("route-planning-service/OpenFile", {
  defaultValue: () => openNameless
})

const opened = Effect.fnUntraced(function*(purpose: Purpose) {
  const openFile = yield* OpenFile
  return new NamelessFile(yield* attempt(purpose, openFile), purpose)
})

export const namelessFile = (purpose: Purpose) => Effect.acquireRelease(opened(purpose), (file) => file.close())

export const kept = Effect.fnUntraced(function*<E>(
  upload: Stream.Stream<Uint8Array, E>,
  count: CountBytes
): Effect.fn.Return<NamelessFile, E | Overloaded, Scope.Scope> {
  const file = yield* namelessFile("upload")
  yield* Stream.runForEach(upload, (bytes) => Effect.andThen(count(bytes.length), file.append(bytes)))
  return file
})

/** A file stays in memory up to this size, the buffers of a socket. */
const MEMORY_BYTES = 128 * 1024

const PIECE_BYTES = 64 * 1024

export interface SpooledFile {
  readonly size: number
  readonly bytes: Stream.Stream<Uint8Array>
}

const fromDisk = (file: NamelessFile, size: number) =>
  Stream.unfold(0, (position) =>
    position >= size
      ? Effect.undefined
      : Effect.map(
        file.read(position, PIECE_BYTES),
        (bytes) => [bytes, position + bytes.length] as const
      ))

/** All files together have at most these bytes on disk. 100,000 positions have 25 MB, hostile digits 100. */
export const SpoolLimit = Context.Reference<number>("route-planning-service/SpoolLimit", {
  defaultValue: () => 1024 * 1024 * 1024
})

const bytesOf = (piece: string | Uint8Array): Uint8Array => typeof piece === "string" ? Buffer.from(piece) : piece

const makeSpool = (limitBytes: number) => {
  const disk = { bytes: 0 }

  const reserve = Effect.fnUntraced(function*(bytes: number) {
    if (disk.bytes + bytes > limitBytes) return yield* new SpoolFull()
    disk.bytes += bytes
  })

  const fill = Effect.fnUntraced(function*(texts: Iterable<string | Uint8Array>) {
    const held: Array<Uint8Array> = []
    const own = { size: 0, onDisk: 0 }
    yield* Effect.addFinalizer(() => Effect.sync(() => disk.bytes -= own.onDisk))
    const file = yield* Effect.cached(namelessFile("download"))

    // Only one chunk is made at a time: else the next would be generated before a piece of this one is written.
    const pieces = Stream.fromIterable(texts, { chunkSize: 1 }).pipe(Stream.map(bytesOf))
    yield* Stream.runForEach(pieces, (piece) => {
      own.size += piece.length
      held.push(piece)
      if (own.size <= MEMORY_BYTES) return Effect.void
      const bytes = Buffer.concat(held.splice(0))
      return reserve(bytes.length).pipe(
        Effect.andThen(Effect.sync(() => own.onDisk += bytes.length)),
        Effect.andThen(file),
        Effect.flatMap((file) => file.append(bytes))
      )
    })
    const { onDisk, size } = own
    const spooled: SpooledFile = {
      size,
      bytes: onDisk === 0 ? Stream.fromIterable(held) : fromDisk(yield* file, size)
    }
    return spooled
  })

  return Effect.fnUntraced(function*(
    texts: Iterable<string | Uint8Array>
  ): Effect.fn.Return<SpooledFile, SpoolFull | Overloaded, Scope.Scope> {
    // A file that finds no room leaves nothing when it fails: the scope of a request closes after its response.
    const own = yield* Scope.fork(yield* Effect.scope)
    return yield* Effect.onError(Scope.provide(fill(texts), own), (cause) => Scope.close(own, Exit.failCause(cause)))
  })
}

export class Spool extends Context.Service<Spool, {
  /**
   * Generates a whole file, so that a slow client does not block its generation. A file of more than 128 KiB is on disk
   * until the scope closes. Fails with `Overloaded` without room on the disk.
   */
  readonly take: (
    texts: Iterable<string | Uint8Array>
  ) => Effect.Effect<SpooledFile, SpoolFull | Overloaded, Scope.Scope>
}>()("route-planning-service/Spool") {
  static readonly layer = Layer.effect(Spool, Effect.map(SpoolLimit, (limit) => Spool.of({ take: makeSpool(limit) })))
}
