import { Effect, Schema, type Scope, Stream } from "effect"
import { createHash } from "node:crypto"
import { type Entry, fromFdPromise, type ZipFile } from "yauzl"
import { type ArchivedProfile, type Manifest, MAX_UNPACKED } from "../../schema/Archive.ts"
import { InvalidInput, type Overloaded } from "../DomainErrors.ts"
import { brokenArchive, brokenFile } from "../files/Unpack.ts"
import type { NamelessFile } from "../spool/NamelessFile.ts"
import { type Outcome, PROFILE, readProfile } from "./DecodedFiles.ts"
import { directoryOf, MAX_MANIFEST } from "./Directory.ts"
import { BadLine, type Elements, elementsOf } from "./ElementReader.ts"
import type { RunJob } from "./ImportTurns.ts"
import { type ListName, LISTS } from "./Lists.ts"
import { MANIFEST, readManifest } from "./Manifests.ts"

/** Its files match the manifest by name and size; reading one fails at its end for a wrong SHA-256. */
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
  const zip = await fromFdPromise(file.descriptor, { autoClose: false, strictFileNames: true })
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
const unpacked = (zip: ZipFile, entry: Entry, name: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => zip.openReadStreamPromise(entry),
      catch: (error) => refusedAt(name, error)
    }),
    (chunks) => Effect.sync(() => chunks.destroy())
  )

const valueOf = <A>(outcome: Outcome<A>) =>
  "issues" in outcome ? Effect.fail(new InvalidInput({ issues: outcome.issues })) : Effect.succeed(outcome.value)

const joined = (pieces: ReadonlyArray<Uint8Array>): ArrayBuffer => {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  pieces.reduce((at, piece) => {
    whole.set(piece, at)
    return at + piece.length
  }, 0)
  return whole.buffer
}

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
    from: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
  ) {
    if ((entries.get(name)?.uncompressedSize ?? 0) > MAX_MANIFEST) {
      return yield* InvalidInput.at(name, `Expected at most ${MAX_MANIFEST} bytes`)
    }
    return joined(yield* Stream.runCollect(fileOf(name, from)))
  })

  const bytes = yield* readWhole(MANIFEST, (chunks) => chunks)
  const { counts, digests } = yield* Effect.flatMap(
    run(readManifest, { bytes, names, sizes }, bytes.byteLength),
    valueOf
  )
  const checked = (name: string) => (chunks: AsyncIterable<Uint8Array>) => digested(chunks, digests.get(name))

  const archive: CheckedArchive = {
    counts,
    profile: readWhole(PROFILE, checked(PROFILE)).pipe(
      Effect.flatMap((bytes) => run(readProfile, bytes, bytes.byteLength)),
      Effect.flatMap(valueOf)
    ),
    elements: (name) => fileOf(name, (chunks) => elementsOf(checked(name)(chunks), counts[LISTS[name]]))
  }
  return archive
})
