import { Effect, type Schema, type Scope, Stream } from "effect"
import { createHash } from "node:crypto"
import { type Entry, fromFdPromise, type ZipFile } from "yauzl"
import { type ArchivedFile, Manifest, MAX_FILES } from "../../schema/Archive.ts"
import { ValidationFailed, type ValidationIssue } from "../../schema/Errors.ts"
import { MAX_ISSUES } from "../../schema/Issues.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { BadLine, type Element, elementsOf } from "./Lines.ts"
import type { NamelessFile } from "./NamelessFile.ts"

const MIB = 1024 * 1024

/** What the files that are read may unpack to, so that no archive keeps the service busy for long. */
const MAX_UNPACKED = 512 * MIB

/**
 * The same in relation to what they are packed in. What is beyond the first MiBs of an own export stays below half of it
 * (`Padding.ts`), whatever its routes repeat.
 */
const MAX_RATIO = 50
const ANY_RATIO_UP_TO = 8 * MIB

/** The most of a file that is read as a whole: the manifest of as many files as an archive may have. */
const MAX_WHOLE = 16 * MIB

const MANIFEST = "manifest.json"
const EXPECTED_FILES = ["profile.json", "routes.json", "collections.json"]

/** The others stay packed. */
const READ_FILES = [MANIFEST, ...EXPECTED_FILES]

/** The files that have one element a line, and where the manifest counts them. */
export const LISTS = { "routes.json": "routes", "collections.json": "collections" } as const
export type ListName = keyof typeof LISTS

/**
 * An archive whose files are those of its manifest by name and size, and those that are read to the byte: reading one fails
 * at its end when it has not the SHA-256 that the manifest says.
 */
export interface CheckedArchive {
  readonly manifest: Manifest
  /** A JSON file as a whole. */
  readonly read: <S extends Schema.ConstraintDecoder<unknown>>(
    name: string,
    schema: S
  ) => Effect.Effect<S["Type"], ValidationFailed>
  /** The elements of a file that has one a line, no more of them than the manifest says, in batches of about 1 MiB. */
  readonly elements: (name: ListName) => Stream.Stream<ReadonlyArray<Element>, ValidationFailed>
}

const broken = (error: unknown) =>
  ValidationFailed.at("", `The archive cannot be read: ${error instanceof Error ? error.message : "it is broken"}`)

class WrongDigest extends Error {}

const refusedAt = (name: string, error: unknown) => {
  if (error instanceof BadLine) return ValidationFailed.at(`${name}:${error.line}`, error.message)
  if (error instanceof WrongDigest) return ValidationFailed.at(name, "Expected the SHA-256 that the manifest has")
  return ValidationFailed.at(
    name,
    `The file cannot be read: ${error instanceof Error ? error.message : "it is broken"}`
  )
}

const zipIn = async (file: NamelessFile) => {
  const zip = await fromFdPromise(file.descriptor, { autoClose: false, strictFileNames: true })
  // It closes the file itself, once nothing of it is read any more.
  file.giveAway()
  return zip
}

/** The files of an archive by name; directories are none. Refuses a name that comes twice. */
const indexOf = async (zip: ZipFile) => {
  if (zip.entryCount > MAX_FILES) throw new Error(`it has more than ${MAX_FILES} files`)
  const files = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    if (files.has(entry.fileName)) throw new Error(`it has ${entry.fileName} twice`)
    if (!entry.fileName.endsWith("/")) files.set(entry.fileName, entry)
  }
  return files
}

/**
 * Refuses what unpacks to too much. The sizes are those of the directory: a file is not unpacked beyond its own, nor from
 * more bytes than it says, though files may share the bytes that they are packed in.
 */
const requireModest = (zip: ZipFile, files: ReadonlyMap<string, Entry>) => {
  const read = READ_FILES.flatMap((name) => files.get(name) ?? [])
  const unpacked = read.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0)
  const packed = Math.min(zip.fileSize, read.reduce((sum, { compressedSize }) => sum + compressedSize, 0))
  if (unpacked > MAX_UNPACKED) throw new Error(`what is read of it unpacks to more than ${MAX_UNPACKED} bytes`)
  if (unpacked > ANY_RATIO_UP_TO + MAX_RATIO * packed) {
    throw new Error(`what is read of it unpacks to more than ${MAX_RATIO} times its size`)
  }
}

const directoryOf = async (zip: ZipFile) => {
  const files = await indexOf(zip)
  requireModest(zip, files)
  return files
}

/** The pieces of a file; fails behind the last one when they are not those of the digest. */
async function* digested(chunks: AsyncIterable<Uint8Array>, sha256: string | undefined) {
  const hash = createHash("sha256")
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest("hex") !== sha256) throw new WrongDigest()
}

/**
 * A file as it is unpacked. Whoever stops reading destroys it, since the end of a generator waits for what is under way:
 * what is made of an unpacker that is destroyed ends with the piece that it has.
 */
const unpacked = (zip: ZipFile, entry: Entry, name: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => zip.openReadStreamPromise(entry),
      catch: (error) => refusedAt(name, error)
    }),
    (chunks) => Effect.sync(() => chunks.destroy())
  )

/** What a file is not that its manifest says it is, by the directory. */
const complaintAbout = (files: ReadonlyMap<string, Entry>, { name, size }: ArchivedFile) => {
  const entry = files.get(name)
  if (entry === undefined) return "Expected the file, which the manifest names"
  return entry.uncompressedSize === size ? undefined : `Expected ${size} bytes, as the manifest says`
}

const issuesWith = (files: ReadonlyMap<string, Entry>, manifest: Manifest): ReadonlyArray<ValidationIssue> => {
  const named = new Set([MANIFEST, ...manifest.files.map(({ name }) => name)])
  if (named.size !== manifest.files.length + 1) {
    return [{ path: `${MANIFEST}.files`, message: "Expected each file once" }]
  }
  const issues = [
    ...EXPECTED_FILES.filter((name) => !named.has(name)).map((name) => ({
      path: name,
      message: "Expected in the manifest"
    })),
    ...[...files.keys()].filter((name) => !named.has(name)).map((name) => ({
      path: name,
      message: "Not in the manifest"
    }))
  ]
  for (const file of manifest.files) {
    const message = complaintAbout(files, file)
    if (message !== undefined) issues.push({ path: file.name, message })
  }
  return issues.slice(0, MAX_ISSUES)
}

/**
 * Opens the archive in a file and compares every file with its manifest. `ValidationFailed` names what is missing, more, or
 * other than it should be.
 */
export const checkedArchive = Effect.fnUntraced(function*(
  file: NamelessFile
): Effect.fn.Return<CheckedArchive, ValidationFailed, Scope.Scope> {
  const zip = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => zipIn(file),
      catch: broken
    }),
    (zip) => Effect.sync(() => zip.close())
  )
  const files = yield* Effect.tryPromise({ try: () => directoryOf(zip), catch: broken })

  const fileOf = <A>(name: string, from: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<A>) => {
    const entry = files.get(name)
    return entry === undefined
      ? Stream.fail(ValidationFailed.at(name, "Expected the file"))
      : Stream.unwrap(
        Effect.map(
          unpacked(zip, entry, name),
          (chunks) => Stream.fromAsyncIterable(from(chunks), (error) => refusedAt(name, error))
        )
      )
  }

  const readWhole = Effect.fnUntraced(function*<S extends Schema.ConstraintDecoder<unknown>>(
    name: string,
    schema: S,
    from: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
  ) {
    if ((files.get(name)?.uncompressedSize ?? 0) > MAX_WHOLE) {
      return yield* ValidationFailed.at(name, `Expected at most ${MAX_WHOLE} bytes`)
    }
    const text = yield* Stream.mkString(Stream.decodeText(fileOf(name, from)))
    return yield* Effect.mapError(decodeBounded(schema)(text), (issues) => ValidationFailed.of(below(name, issues)))
  })

  const manifest = yield* readWhole(MANIFEST, Manifest, (chunks) => chunks)
  const issues = issuesWith(files, manifest)
  if (issues.length > 0) return yield* ValidationFailed.of(issues)

  const digests = new Map(manifest.files.map(({ name, sha256 }) => [name, sha256]))
  const checked = (name: string) => (chunks: AsyncIterable<Uint8Array>) => digested(chunks, digests.get(name))

  const archive: CheckedArchive = {
    manifest,
    read: (name, schema) => readWhole(name, schema, checked(name)),
    elements: (name) => fileOf(name, (chunks) => elementsOf(checked(name)(chunks), manifest.counts[LISTS[name]]))
  }
  return archive
})

/** Issues of a part of an archive, by where that part is. */
export const below = (place: string, issues: ReadonlyArray<ValidationIssue>): ReadonlyArray<ValidationIssue> =>
  issues.map(({ message, path }) => ({ path: path === "" ? place : `${place}.${path}`, message }))
