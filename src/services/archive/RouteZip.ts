import { Effect, Stream } from "effect"
import { promisify } from "node:util"
import { gunzip, inflateRaw } from "node:zlib"
import { type Entry, fromRandomAccessReaderPromise, type ZipFile } from "yauzl"
import { ARCHIVE_BODY_LIMIT, MAX_ARCHIVE_FILES } from "../../schema/Archive.ts"
import { MAX_UNPACKED_BYTES } from "../../schema/Import.ts"
import { MAX_UNPACKED_ROUTES } from "../../schema/ZipImport.ts"
import { InvalidInput, type Overloaded } from "../DomainErrors.ts"
import { entryName, isGzip, isNoFile, LEADS_OUT, leadsOut, OWN_FILES } from "../files/PackedFile.ts"
import { type ImportDisk, kept, type NamelessFile } from "../files/Spool.ts"
import { brokenArchive, brokenFile, isTooLarge } from "../files/Upload.ts"
import { entriesWithin, ReadAhead, sharedFolder, unpacked } from "./Zip.ts"

/** The bytes are read when they are needed. `InvalidInput` says why the file is skipped. */
export interface ZippedFile {
  readonly name: string
  readonly bytes: Effect.Effect<Uint8Array<ArrayBuffer>, InvalidInput>
}

export interface RouteZip {
  /** `isOwn` is true if the archive is an export of this service. */
  readonly isOwn: boolean
  readonly count: number
  readonly find: (isWanted: (name: string) => boolean) => Effect.Effect<ReadonlyArray<ZippedFile>, InvalidInput>
  /** Counts what a file unpacks to beyond its own bytes: a KMZ is an archive, too. */
  readonly spend: (bytes: number) => Effect.Effect<void>
  /** The files come in their order, with those of nested archives. */
  readonly files: Stream.Stream<ZippedFile, InvalidInput | Overloaded>
}

/** Garmin's export has a file for each thousand activities. */
const MAX_FOUND = 100

type Disk = ImportDisk["Service"]

interface Room {
  files: number
  bytes: number
}

const SYMBOLIC_LINK = 0o120000
const FILE_TYPE = 0o170000
const UNIX = 3

const isSymbolicLink = ({ externalFileAttributes, versionMadeBy }: Entry) =>
  versionMadeBy >> 8 === UNIX && (externalFileAttributes >>> 16 & FILE_TYPE) === SYMBOLIC_LINK

export const isNested = (name: string): boolean => /\.zip$/i.test(name)

/** The library does not decode names: it gives up the archive where one leads out of it. */
const opened = (file: NamelessFile, validateEntrySizes: boolean) =>
  Effect.flatMap(file.size, (size) =>
    Effect.tryPromise({
      try: () =>
        fromRandomAccessReaderPromise(new ReadAhead(file.descriptor), size, {
          autoClose: false,
          decodeStrings: false,
          validateEntrySizes
        }),
      catch: () => brokenArchive(new Error("it is no ZIP file, or it is damaged"))
    }))

const entriesOf = (file: NamelessFile) =>
  Stream.unwrap(Effect.map(opened(file, false), (zip) => Stream.fromAsyncIterable(zip.eachEntry(), brokenArchive)))

const surveyed = (file: NamelessFile) =>
  Effect.gen(function*() {
    const zip = yield* opened(file, false)
    return yield* Effect.tryPromise({
      try: async () => {
        const names: Array<string> = []
        for await (const entry of entriesWithin(zip)) {
          const name = entryName(entry)
          if (!isNoFile(name)) names.push(name)
        }
        const folder = names.reduce<string | undefined>(sharedFolder, undefined) ?? ""
        const own = names.filter((name) => OWN_FILES.has(name.slice(folder.length)))
        // Folders of other programs may have a file of such a name.
        return { isOwn: own.length > (folder === "" ? 0 : 1), count: names.length }
      },
      catch: brokenArchive
    })
  })

const skipped = (reason: string) => InvalidInput.at("", reason)

const STORED = 0

const wrongSize = (size: number) => `it has not the ${size} bytes that the directory of the archive says`

const requireReadable = (entry: Entry, room: Room, most: number) => {
  if (leadsOut(entry)) return Effect.fail(skipped(LEADS_OUT))
  if (entry.isEncrypted()) return Effect.fail(skipped("it is encrypted"))
  if (isSymbolicLink(entry)) return Effect.fail(skipped("it is a symbolic link"))
  if (Math.max(entry.compressedSize, entry.uncompressedSize) > most) {
    return Effect.fail(skipped(`it has more than ${most} bytes`))
  }
  // The size counts against the room, and nothing else would compare it with that of a file that is not compressed.
  if (entry.compressionMethod === STORED && entry.compressedSize !== entry.uncompressedSize) {
    return Effect.fail(brokenFile("", new Error(wrongSize(entry.uncompressedSize))))
  }
  return requireRoom(room, entry.uncompressedSize)
}

const requireRoom = (room: Room, bytes: number) =>
  Effect.suspend(() => {
    if (bytes > room.bytes) {
      room.bytes = 0
      return Effect.fail(skipped(`the files before it unpack to ${MAX_UNPACKED_ROUTES} bytes, the most of an archive`))
    }
    room.bytes -= bytes
    return Effect.void
  })

const unpack = promisify(gunzip)

const gunzipped = (bytes: Uint8Array) =>
  Effect.tryPromise({
    try: () => unpack(bytes, { maxOutputLength: MAX_UNPACKED_BYTES }),
    catch: (error) => skipped(isTooLarge(error) ? `it has more than ${MAX_UNPACKED_BYTES} bytes` : "Malformed gzip")
  })

const DEFLATED = 8

const inflate = promisify(inflateRaw)

/** With room to spare, zlib sees the end of a file without a second buffer of its size. */
const SPARE_BYTES = 64

/** Unpacks into one buffer: copies are memory outside of the heap, which starts collections of garbage. */
const inflated = async (packed: Uint8Array, size: number) => {
  const room = size + SPARE_BYTES
  const wrong = new Error(wrongSize(size))
  const bytes = await inflate(packed, { chunkSize: room, maxOutputLength: room }).catch((error: unknown) => {
    throw isTooLarge(error) ? wrong : error
  })
  if (bytes.length !== size) throw wrong
  return bytes
}

const readEntry = async (zip: ZipFile, entry: Entry) => {
  const isDeflated = entry.compressionMethod === DEFLATED
  const stream = await zip.openReadStreamPromise(entry, isDeflated ? { decodeFileData: false } : {})
  const bytes = Buffer.concat(await stream.toArray())
  return isDeflated ? inflated(bytes, entry.uncompressedSize) : bytes
}

/** Not interruptible, as reads of a `NamelessFile`: the descriptor could belong to another file by then. */
const bytesOf = Effect.fnUntraced(function*(zip: ZipFile, entry: Entry, room: Room) {
  yield* requireReadable(entry, room, MAX_UNPACKED_BYTES)
  const bytes = yield* Effect.uninterruptible(Effect.tryPromise({
    try: () => readEntry(zip, entry),
    catch: (error) => brokenFile("", error)
  }))
  if (!isGzip(bytes)) return bytes
  // A file that fails may have been unpacked to the limit before.
  const whole = yield* Effect.tapError(gunzipped(bytes), () => requireRoom(room, MAX_UNPACKED_BYTES))
  yield* requireRoom(room, whole.byteLength)
  return whole
})

const onlyProblem = (name: string, problem: InvalidInput) =>
  Stream.succeed<ZippedFile>({ name, bytes: Effect.fail(problem) })

/** Reads the files of a nested archive, which is on the disk until they are read. */
const nestedFiles = (zip: ZipFile, entry: Entry, name: string, room: Room, disk: Disk) =>
  Stream.unwrap(Effect.gen(function*() {
    yield* requireReadable(entry, room, ARCHIVE_BODY_LIMIT)
    const source = yield* unpacked(zip, entry, "")
    const bytes = Stream.fromAsyncIterable<Uint8Array, InvalidInput>(source, (error) => brokenFile("", error))
    const file = yield* kept(bytes, yield* disk.share)
    const { count } = yield* surveyed(file)
    if (count > room.files) return onlyProblem(name, skipped(`with it there are more than ${MAX_ARCHIVE_FILES} files`))
    room.files -= count
    return yield* filesOf(file, room, disk, `${name}/`)
  })).pipe(Stream.catchTag("InvalidInput", (problem) => onlyProblem(name, problem)))

const filesOf = Effect.fnUntraced(function*(
  file: NamelessFile,
  room: Room,
  disk: Disk,
  folder = ""
): Effect.fn.Return<Stream.Stream<ZippedFile, InvalidInput | Overloaded>, InvalidInput> {
  const zip = yield* opened(file, true)
  return entriesOf(file).pipe(
    Stream.map((entry) => ({ entry, name: entryName(entry) })),
    Stream.filter(({ name }) => !isNoFile(name)),
    Stream.flatMap(({ entry, name }): Stream.Stream<ZippedFile, InvalidInput | Overloaded> => {
      const full = `${folder}${name}`
      if (!isNested(name)) return Stream.succeed({ name: full, bytes: bytesOf(zip, entry, room) })
      return folder === ""
        ? nestedFiles(zip, entry, name, room, disk)
        : onlyProblem(full, skipped("an archive in a nested archive is not read"))
    })
  )
})

/** Opens a ZIP of route files. Fails with `InvalidInput` for a malformed directory; a malformed file is skipped. */
export const routeZip = Effect.fnUntraced(function*(file: NamelessFile, disk: Disk) {
  const { count, isOwn } = yield* surveyed(file)
  const room: Room = { files: MAX_ARCHIVE_FILES - count, bytes: MAX_UNPACKED_ROUTES }
  const zip: RouteZip = {
    isOwn,
    count,
    find: Effect.fnUntraced(function*(isWanted) {
      const zip = yield* opened(file, true)
      const found = yield* entriesOf(file).pipe(
        Stream.filter((entry) => isWanted(entryName(entry))),
        Stream.take(MAX_FOUND),
        Stream.runCollect
      )
      return found.map((entry): ZippedFile => ({
        name: entryName(entry),
        bytes: bytesOf(zip, entry, room)
      }))
    }),
    spend: (bytes) => Effect.sync(() => void (room.bytes -= bytes)),
    files: Stream.unwrap(filesOf(file, room, disk))
  }
  return zip
})
