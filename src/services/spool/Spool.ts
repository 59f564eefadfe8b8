import { Context, Effect, Exit, Layer, Scope, Stream } from "effect"
import { type Overloaded, SpoolFull } from "../DomainErrors.ts"
import { type NamelessFile, namelessFile } from "./NamelessFile.ts"

/** In memory up to this size: no more than the buffers of a socket. */
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
        file.read(position, Math.min(PIECE_BYTES, size - position)),
        (bytes) => [bytes, position + bytes.length] as const
      ))

/** On disk, of all files. 100,000 positions have 25 MB, hostile digits 100. */
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

    // One at a time: a chunk would be generated before its first piece is written.
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
    // What there is no room for leaves nothing when it fails: the scope of a request closes after its response.
    const own = yield* Scope.fork(yield* Effect.scope)
    return yield* Effect.onError(Scope.provide(fill(texts), own), (cause) => Scope.close(own, Exit.failCause(cause)))
  })
}

export class Spool extends Context.Service<Spool, {
  /**
   * Generates a whole file, so that a slow client does not block its generation. Above 128 KiB it is on disk until the
   * scope closes. `Overloaded` without room on the disk.
   */
  readonly take: (
    texts: Iterable<string | Uint8Array>
  ) => Effect.Effect<SpooledFile, SpoolFull | Overloaded, Scope.Scope>
}>()("route-planning-service/Spool") {
  static readonly layer = Layer.effect(Spool, Effect.map(SpoolLimit, (limit) => Spool.of({ take: makeSpool(limit) })))
}
