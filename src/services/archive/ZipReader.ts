import { Effect, type Schema, type Scope, Stream } from "effect"
import { createHash } from "node:crypto"
import { pipeline } from "node:stream/promises"
import { type Entry, fromFdPromise, type ZipFile } from "yauzl"
import { type ArchivedFile, Manifest, MAX_FILES } from "../../schema/Archive.ts"
import { ValidationFailed, type ValidationIssue } from "../../schema/Errors.ts"
import { MAX_ISSUES } from "../../schema/Issues.ts"
import { decodeBounded } from "../json/BoundedJson.ts"
import { BadLine, type Element, elementsOf } from "./Lines.ts"
import type { NamelessFile } from "./NamelessFile.ts"

const MIB = 1024 * 1024

/** What an archive may unpack to, so that a small one cannot keep the service busy for long. */
const MAX_TOTAL = 4096 * MIB

/** The most of a file that is read as a whole: the manifest of as many files as an archive may have. */
const MAX_WHOLE = 16 * MIB

const MANIFEST = "manifest.json"
const EXPECTED_FILES = ["profile.json", "routes.json", "collections.json"]

/** The files that have one element a line, and where the manifest counts them. */
const LISTS = { "routes.json": "routes", "collections.json": "collections" } as const
export type ListName = keyof typeof LISTS

/** An archive whose files are those of its manifest, to the byte. */
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

const refusedAt = (name: string, error: unknown) =>
  error instanceof BadLine
    ? ValidationFailed.at(`${name}:${error.line}`, error.message)
    : ValidationFailed.at(name, `The file cannot be read: ${error instanceof Error ? error.message : "it is broken"}`)

const zipIn = async (file: NamelessFile) => {
  const zip = await fromFdPromise(file.descriptor, { autoClose: false, strictFileNames: true })
  // It closes the file itself, once nothing of it is read any more.
  file.giveAway()
  return zip
}

/** The files of an archive by name; directories are none. Refuses what unpacks to too much, and a name that comes twice. */
const indexOf = async (zip: ZipFile) => {
  if (zip.entryCount > MAX_FILES) throw new Error(`it has more than ${MAX_FILES} files`)
  const files = new Map<string, Entry>()
  let total = 0
  for await (const entry of zip.eachEntry()) {
    total += entry.uncompressedSize
    if (total > MAX_TOTAL) throw new Error(`it unpacks to more than ${MAX_TOTAL} bytes`)
    if (files.has(entry.fileName)) throw new Error(`it has ${entry.fileName} twice`)
    if (!entry.fileName.endsWith("/")) files.set(entry.fileName, entry)
  }
  return files
}

const digestOf = async (zip: ZipFile, entry: Entry, signal: AbortSignal) => {
  const hash = createHash("sha256")
  await pipeline(await zip.openReadStreamPromise(entry), hash, { signal })
  return hash.digest("hex")
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

/** What a file is not that its manifest says it is. */
const complaintAbout = (zip: ZipFile, files: ReadonlyMap<string, Entry>, { name, sha256, size }: ArchivedFile) => {
  const entry = files.get(name)
  if (entry === undefined) return Effect.succeed("Expected the file, which the manifest names")
  if (entry.uncompressedSize !== size) return Effect.succeed(`Expected ${size} bytes, as the manifest says`)
  return Effect.tryPromise((signal) => digestOf(zip, entry, signal)).pipe(
    Effect.map((digest) => digest === sha256 ? undefined : "Expected the SHA-256 that the manifest has"),
    Effect.catch(() => Effect.succeed("The file cannot be read"))
  )
}

const issuesWith = Effect.fnUntraced(function*(
  zip: ZipFile,
  files: ReadonlyMap<string, Entry>,
  manifest: Manifest
) {
  const named = new Set([MANIFEST, ...manifest.files.map(({ name }) => name)])
  // Each mention of a file is a reading of it.
  if (named.size !== manifest.files.length + 1) {
    return [{ path: `${MANIFEST}.files`, message: "Expected each file once" }]
  }
  const issues: Array<ValidationIssue> = [
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
    if (issues.length >= MAX_ISSUES) break
    const message = yield* complaintAbout(zip, files, file)
    if (message !== undefined) issues.push({ path: file.name, message })
  }
  return issues.slice(0, MAX_ISSUES)
})

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
  const files = yield* Effect.tryPromise({ try: () => indexOf(zip), catch: broken })

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

  const read: CheckedArchive["read"] = Effect.fnUntraced(function*(name, schema) {
    if ((files.get(name)?.uncompressedSize ?? 0) > MAX_WHOLE) {
      return yield* ValidationFailed.at(name, `Expected at most ${MAX_WHOLE} bytes`)
    }
    const text = yield* Stream.mkString(Stream.decodeText(fileOf(name, (chunks) => chunks)))
    return yield* Effect.mapError(decodeBounded(schema)(text), (issues) => ValidationFailed.of(below(name, issues)))
  })

  const manifest = yield* read(MANIFEST, Manifest)
  const issues = yield* issuesWith(zip, files, manifest)
  if (issues.length > 0) return yield* ValidationFailed.of(issues)

  const elements: CheckedArchive["elements"] = (name) =>
    fileOf(name, (chunks) => elementsOf(chunks, manifest.counts[LISTS[name]]))

  return { manifest, read, elements }
})

/** Issues of a part of an archive, by where that part is. */
export const below = (place: string, issues: ReadonlyArray<ValidationIssue>): ReadonlyArray<ValidationIssue> =>
  issues.map(({ message, path }) => ({ path: path === "" ? place : `${place}.${path}`, message }))
