import type { ZipArchive } from "archiver"
import { DateTime, Effect, Schema, type Scope, Stream } from "effect"
import { createHash } from "node:crypto"
import { read } from "node:fs"
import { PassThrough, Readable } from "node:stream"
import { promisify } from "node:util"
import { type Entry, fromFdPromise, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from "yauzl"
import {
  type ArchivedFile,
  type ArchivedProfile,
  type Manifest,
  MAX_ARCHIVE_FILES,
  MAX_UNPACKED
} from "../../schema/Archive.ts"
import type { RunJob } from "../admission/ImportTurns.ts"
import { InvalidInput, type Overloaded } from "../DomainErrors.ts"
import { PIECE_LENGTH } from "../files/FileValues.ts"
import { isNoFile, MANIFEST } from "../files/PackedFile.ts"
import type { NamelessFile, SpooledFile } from "../files/Spool.ts"
import { brokenArchive, brokenFile } from "../files/Upload.ts"
import {
  BadLine,
  type Elements,
  elementsOf,
  type ListName,
  LISTS,
  type Outcome,
  PROFILE,
  READ_FILES,
  readManifest,
  readProfile
} from "./Lists.ts"

const WINDOW = 65_536

/** The names of the most files that an archive may have fit into these bytes. */
const MAX_MANIFEST = 16 * 1024 * 1024

const MAX_DIRECTORY = MAX_MANIFEST

/** The longest JSON body has this length; a longer file is refused before it is unpacked. */
const MAX_PROFILE = 8 * 1024 * 1024

interface Directory {
  readonly entries: ReadonlyMap<string, Entry>
  readonly names: ReadonlyArray<string>
  readonly sizes: ReadonlyArray<number>
}

/** A stream of `node:fs` would close the descriptor, even without `autoClose`. */
async function* piecesBetween(descriptor: number, start: number, end: number) {
  for (let at = start; at < end;) {
    const buffer = Buffer.allocUnsafe(Math.min(WINDOW, end - at))
    const { bytesRead } = await promisify(read)(descriptor, buffer, 0, buffer.length, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Unbuffered, 50,000 entries take 100,000 reads and a second of CPU. Buffered reads still yield to the event loop. */
export class ReadAhead extends RandomAccessReader {
  private readonly descriptor: number
  private window = Buffer.alloc(0)
  private start = 0

  constructor(descriptor: number) {
    super()
    this.descriptor = descriptor
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void
  ) {
    const from = position - this.start
    if (from >= 0 && from + length <= this.window.length) {
      this.window.copy(target, offset, from, from + length)
      setImmediate(callback, null)
      return
    }
    const window = Buffer.allocUnsafe(Math.max(length, WINDOW))
    read(this.descriptor, window, 0, window.length, position, (error, count) => {
      if (error !== null || count < length) {
        callback(error ?? new Error("unexpected EOF"))
        return
      }
      this.window = window.subarray(0, count)
      this.start = position
      this.window.copy(target, offset, 0, length)
      callback(null)
    })
  }

  override _readStreamForRange(start: number, end: number) {
    return Readable.from(piecesBetween(this.descriptor, start, end), { objectMode: false })
  }
}

/** Returns the entries, and throws for more of them, or for a longer directory, than an archive may have. */
export async function* entriesWithin(zip: ZipFile): AsyncGenerator<Entry> {
  if (zip.entryCount > MAX_ARCHIVE_FILES) throw new Error(`it has more than ${MAX_ARCHIVE_FILES} files`)
  let bytes = 0
  for await (const entry of zip.eachEntry()) {
    bytes += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength
    if (bytes > MAX_DIRECTORY) throw new Error(`its directory has more than ${MAX_DIRECTORY} bytes`)
    yield entry
  }
}

/** Returns the folder that this name and those before it are in, with its slash, or an empty text. */
export const sharedFolder = (folder: string | undefined, name: string): string => {
  const shared = folder ?? name.slice(0, name.indexOf("/") + 1)
  return name.startsWith(shared) ? shared : ""
}

/** Names lack a folder that all files are in. Throws for a repeated name, and for more files than an archive may have. */
export const directoryOf = async (file: NamelessFile, { fileSize }: ZipFile): Promise<Directory> => {
  const zip = await fromRandomAccessReaderPromise(new ReadAhead(file.descriptor), fileSize, { strictFileNames: true })
  const entries = new Map<string, Entry>()
  const sizes = new Map<string, number>()
  let folder: string | undefined
  for await (const entry of entriesWithin(zip)) {
    const { fileName, uncompressedSize } = entry
    if (sizes.has(fileName)) throw new Error(`it has ${fileName} twice`)
    if (isNoFile(fileName)) continue
    sizes.set(fileName, uncompressedSize)
    folder = sharedFolder(folder, fileName)
    if (READ_FILES.includes(fileName.slice(folder.length))) entries.set(fileName, entry)
  }
  const inFolder = (name: string) => name.slice(folder?.length)
  return {
    entries: new Map(Array.from(entries, ([name, entry]) => [inFolder(name), entry])),
    names: Array.from(sizes.keys(), inFolder),
    sizes: [...sizes.values()]
  }
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff

/** Splits a text into pieces of at most 64 Ki UTF-16 code units, and keeps surrogate pairs whole for UTF-8. */
export function* piecesOf(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    const end = start + PIECE_LENGTH
    const isCut = end < text.length && isHighSurrogate(text.charCodeAt(end - 1))
    yield text.slice(start, isCut ? end - 1 : end)
    start = isCut ? end - 1 : end
  }
}

/** A compressor lives until the next full GC. 36 KiB in place of 272 make an archive of 10,000 routes 13 % larger. */
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

/** Produces the archive on demand. After a failure it lacks the central directory, so it is no valid archive. */
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

/** The files match the manifest by name and size; reading one fails at its end if its SHA-256 differs. */
export interface CheckedArchive {
  readonly counts: Manifest["counts"]
  readonly profile: Effect.Effect<typeof ArchivedProfile.Type, InvalidInput | Overloaded>
  readonly elements: (name: ListName) => Stream.Stream<Elements, InvalidInput>
}

class WrongDigest extends Schema.TaggedError<WrongDigest>()("WrongDigest", {}) {}

const isBadLine = Schema.is(BadLine)

const isWrongDigest = Schema.is(WrongDigest)

const refusedAt = (name: string, error: unknown) => {
  if (isBadLine(error)) return InvalidInput.at(`${name}:${error.line}`, error.message)
  if (isWrongDigest(error)) return InvalidInput.at(name, "Expected the SHA-256 that the manifest has")
  return brokenFile(name, error)
}

const zipIn = async (file: NamelessFile) => {
  const zip = await fromFdPromise(file.descriptor, { autoClose: false })
  // `zip.close()` closes the descriptor, once nothing is read from it.
  file.giveAway()
  return zip
}

/** The directory's sizes bound what is read: unpacking an entry cannot exceed its size. */
const checkedDirectory = async (file: NamelessFile, zip: ZipFile) => {
  const directory = await directoryOf(file, zip)
  const unpacked = [...directory.entries.values()].reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0)
  if (unpacked > MAX_UNPACKED) throw new Error(`what is read of it unpacks to more than ${MAX_UNPACKED} bytes`)
  return directory
}

async function* digested(chunks: AsyncIterable<Uint8Array>, sha256: string | undefined) {
  const hash = createHash("sha256")
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest("hex") !== sha256) throw new WrongDigest()
}

/** The release destroys the stream, since the end of a generator would wait for a pending read. */
export const unpacked = (zip: ZipFile, entry: Entry, name: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      // A short entry of a wrong size fails before it is read, and the error would be uncaught without a listener.
      try: async () => (await zip.openReadStreamPromise(entry)).on("error", () => undefined),
      catch: (error) => refusedAt(name, error)
    }),
    (chunks) => Effect.sync(() => chunks.destroy())
  )

const valueOf = <A>(outcome: Outcome<A>) =>
  "issues" in outcome ? Effect.fail(new InvalidInput({ issues: outcome.issues })) : Effect.succeed(outcome.value)

/** Opens an archive and compares every file with the manifest. `InvalidInput` names each difference. */
export const checkedArchive = Effect.fnUntraced(function*(
  file: NamelessFile,
  run: RunJob
): Effect.fn.Return<CheckedArchive, InvalidInput | Overloaded, Scope.Scope> {
  const zip = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => zipIn(file),
      catch: brokenArchive
    }),
    (zip) => Effect.sync(() => zip.close())
  )
  const { entries, names, sizes } = yield* Effect.tryPromise({
    try: () => checkedDirectory(file, zip),
    catch: brokenArchive
  })

  const fileOf = <A>(name: string, from: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<A>) => {
    const entry = entries.get(name)
    return entry === undefined
      ? Stream.fail(InvalidInput.at(name, "Expected the file"))
      : Stream.unwrap(
        Effect.map(
          unpacked(zip, entry, name),
          (chunks) => Stream.fromAsyncIterable(from(chunks), (error) => refusedAt(name, error))
        )
      )
  }

  const readWhole = Effect.fnUntraced(function*(
    name: string,
    most: number,
    from: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
  ) {
    if ((entries.get(name)?.uncompressedSize ?? 0) > most) {
      return yield* InvalidInput.at(name, `Expected at most ${most} bytes`)
    }
    return yield* Stream.mkArrayBuffer(fileOf(name, from))
  })

  const bytes = yield* readWhole(MANIFEST, MAX_MANIFEST, (chunks) => chunks)
  const { counts, digests } = yield* Effect.flatMap(
    run(readManifest, { bytes, names, sizes }, bytes.byteLength),
    valueOf
  )
  const checked = (name: string) => (chunks: AsyncIterable<Uint8Array>) => digested(chunks, digests.get(name))

  const archive: CheckedArchive = {
    counts,
    profile: readWhole(PROFILE, MAX_PROFILE, checked(PROFILE)).pipe(
      Effect.flatMap((bytes) => run(readProfile, bytes, bytes.byteLength)),
      Effect.flatMap(valueOf)
    ),
    elements: (name) => fileOf(name, (chunks) => elementsOf(checked(name)(chunks), counts[LISTS[name]]))
  }
  return archive
})
