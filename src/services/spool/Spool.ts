import { Context, Duration, Effect, Layer, type Scope, Stream } from "effect"
import { Unavailable } from "../../schema/Errors.ts"
import { type NamelessFile, namelessFile } from "./NamelessFile.ts"

/** A file that is not longer than that is held in memory: it costs less than the disk, and no more than a socket's buffers. */
const HELD_BYTES = 128 * 1024

/** What is read of the disk at once. */
const PIECE_BYTES = 64 * 1024

/** A file that was written to its end. */
export interface SpooledFile {
  readonly size: number
  /** From the disk as fast as it is taken, and no faster. */
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

/** Whether a file was refused because others have the room of the process, and not because the disk has none. */
export const isForOthers = ({ details }: Unavailable): boolean => details?.["retryAfterSeconds"] !== undefined

const noRoom = () => Unavailable.retryAfter("Too many long files are being sent: try again", Duration.seconds(5))

/** Bytes on the disk of all files at once. An ordinary file of 100,000 positions has 25 MB, one of hostile digits 100. */
export const SpoolLimit = Context.Reference<number>("route-planning-service/SpoolLimit", {
  defaultValue: () => 1024 * 1024 * 1024
})

const bytesOf = (piece: string | Uint8Array): Uint8Array => typeof piece === "string" ? Buffer.from(piece) : piece

const makeSpool = (limitBytes: number) => {
  const disk = { bytes: 0 }

  const reserve = Effect.fnUntraced(function*(bytes: number) {
    if (disk.bytes + bytes > limitBytes) return yield* noRoom()
    disk.bytes += bytes
  })

  return Effect.fnUntraced(function*(
    texts: Iterable<string | Uint8Array>
  ): Effect.fn.Return<SpooledFile, Unavailable, Scope.Scope> {
    const held: Array<Uint8Array> = []
    const own = { size: 0, onDisk: 0 }
    yield* Effect.addFinalizer(() => Effect.sync(() => disk.bytes -= own.onDisk))
    const file = yield* Effect.cached(namelessFile("a download"))

    // One at a time: more would be made before the first is written, all in one go.
    const pieces = Stream.fromIterable(texts, { chunkSize: 1 }).pipe(Stream.map(bytesOf))
    yield* Stream.runForEach(pieces, (piece) => {
      own.size += piece.length
      held.push(piece)
      if (own.size <= HELD_BYTES) return Effect.void
      const bytes = Buffer.concat(held.splice(0))
      return reserve(bytes.length).pipe(
        Effect.andThen(Effect.sync(() => own.onDisk += bytes.length)),
        Effect.andThen(file),
        Effect.flatMap((file) => file.append(bytes))
      )
    })
    const { onDisk, size } = own
    return { size, bytes: onDisk === 0 ? Stream.fromIterable(held) : fromDisk(yield* file, size) }
  })
}

/** Files that are made before they are sent. */
export class Spool extends Context.Service<Spool, {
  /**
   * Takes the pieces of a file whole, at the pace of their maker, so that a slow client holds up neither the maker nor what
   * the file is made of. A file of more than 128 KiB is on the disk for as long as its scope is open. `Unavailable` where the
   * disk has no room, or the files of the process together would have more than `SpoolLimit`.
   */
  readonly take: (texts: Iterable<string | Uint8Array>) => Effect.Effect<SpooledFile, Unavailable, Scope.Scope>
}>()("route-planning-service/Spool") {
  static readonly layer = Layer.effect(Spool, Effect.map(SpoolLimit, (limit) => Spool.of({ take: makeSpool(limit) })))
}
