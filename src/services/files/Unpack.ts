import { Effect } from "effect"
import { buffer } from "node:stream/consumers"
import { gunzipSync } from "node:zlib"
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl"
import { MAX_FILE_BYTES, MAX_FILES, MAX_UNPACKED_BYTES } from "../../schema/Import.ts"
import { FilesTooLarge, InvalidInput } from "../DomainErrors.ts"
import { FILE_ENCODINGS, isForm, isGzip, isZip, type PackedFile } from "./draft/PackedFile.ts"
import { filesOfForm } from "./Multipart.ts"

interface Room {
  bytes: number
  files: number
}

const tooLarge = (limitBytes: number) => new FilesTooLarge({ limitBytes })

const take = (room: Room, bytes: number) =>
  Effect.suspend(() => {
    room.bytes -= bytes
    if (bytes > MAX_FILE_BYTES) return Effect.fail(tooLarge(MAX_FILE_BYTES))
    return room.bytes < 0 ? Effect.fail(tooLarge(MAX_UNPACKED_BYTES)) : Effect.void
  })

const isOverLimit = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE"

/** Never unpacks more than the limit, whatever the ratio. */
const gunzipped = (bytes: Uint8Array) =>
  Effect.try({
    try: (): Uint8Array => gunzipSync(bytes, { maxOutputLength: MAX_FILE_BYTES }),
    catch: (error) => isOverLimit(error) ? tooLarge(MAX_FILE_BYTES) : InvalidInput.at("", "Malformed gzip")
  })

const reasonOf = (error: unknown) => error instanceof Error ? error.message : "it is broken"

export const brokenArchive = (error: unknown) => InvalidInput.at("", `The archive cannot be read: ${reasonOf(error)}`)

export const brokenFile = (name: string, error: unknown) =>
  InvalidInput.at(name, `The file cannot be read: ${reasonOf(error)}`)

const isFile = ({ fileName }: Entry) => !/(?:\/|^)(?:__MACOSX\/|\.)|\/$/.test(fileName)

const entriesOf = async (zip: ZipFile, room: Room) => {
  const entries: Array<Entry> = []
  for await (const entry of zip.eachEntry()) {
    if (!isFile(entry)) continue
    if (room.files === 0) throw new Error(`it has more than ${MAX_FILES} files`)
    room.files -= 1
    entries.push(entry)
  }
  return entries
}

const fileOf = Effect.fnUntraced(function*(zip: ZipFile, entry: Entry, room: Room) {
  if (entry.isEncrypted()) return yield* brokenArchive(new Error(`${entry.fileName} is encrypted`))
  yield* take(room, entry.uncompressedSize)
  const bytes = yield* Effect.tryPromise({
    try: async () => buffer(await zip.openReadStreamPromise(entry)),
    catch: brokenArchive
  })
  const file: PackedFile = { name: entry.fileName, contentType: undefined, bytes }
  return file
})

/** A file of `.gpx.gz` with a content encoding has two. */
const MAX_LAYERS = 2

const withoutGzip = Effect.fnUntraced(function*(file: PackedFile, room: Room) {
  const state = { bytes: file.bytes }
  for (let layer = 0; layer < MAX_LAYERS && isGzip(state.bytes); layer++) {
    state.bytes = yield* gunzipped(state.bytes)
    yield* take(room, state.bytes.byteLength)
  }
  return { ...file, bytes: state.bytes }
})

const eachWithoutGzip = (files: ReadonlyArray<PackedFile>, room: Room) =>
  Effect.forEach(files, (file) => withoutGzip(file, room))

const filesOfZip = Effect.fnUntraced(function*(bytes: Uint8Array, room: Room) {
  const { entries, zip } = yield* Effect.tryPromise({
    try: async () => {
      const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), {
        autoClose: false
      })
      return { zip, entries: await entriesOf(zip, room) }
    },
    catch: brokenArchive
  })
  return yield* eachWithoutGzip(yield* Effect.forEach(entries, (entry) => fileOf(zip, entry, room)), room)
})

const isCompressed = (contentEncoding = "") => FILE_ENCODINGS.includes(contentEncoding.trim().toLowerCase())

/** Files of a form, a ZIP archive (or KMZ) or the body itself, without gzip. Nested archives stay packed. */
export const unpackedFiles = Effect.fnUntraced(function*(given: PackedFile, contentEncoding: string | undefined) {
  const room: Room = { bytes: MAX_UNPACKED_BYTES, files: MAX_FILES }
  if (isCompressed(contentEncoding) && !isGzip(given.bytes)) return yield* InvalidInput.at("", "Malformed gzip")
  const body = isForm(given.contentType) && !isGzip(given.bytes) ? given : yield* withoutGzip(given, room)
  const files = isForm(body.contentType)
    ? yield* eachWithoutGzip(yield* filesOfForm(body.bytes, body.contentType ?? ""), room)
    : [body]
  const all = yield* Effect.forEach(
    files,
    (file) => isZip(file.bytes) ? filesOfZip(file.bytes, room) : Effect.succeed([file])
  )
  return all.flat()
})
