import { Context, Effect, type Scope, Stream } from "effect"
import { close, open, read, writeFile } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Unavailable } from "../../schema/Errors.ts"
import type { CountBytes } from "./ImportDisk.ts"

/** What a file is for, as the log and the client read it. */
type Purpose = "an upload" | "a download"

/** Only an operator can mend a disk that is full or cannot be written, and the client did nothing wrong. */
const withoutRoom = (purpose: Purpose, error: unknown) =>
  Effect.andThen(
    Effect.logError(`${purpose} cannot be kept`, error),
    Effect.fail(new Unavailable({ message: `There is no room for ${purpose} now: try again later` }))
  )

const attempt = <A>(purpose: Purpose, work: () => Promise<A>) =>
  Effect.tryPromise(work).pipe(Effect.catch(({ cause }) => withoutRoom(purpose, cause)))

/** A file in the temporary directory that no directory names: it ends with the process, in whatever way that ends. */
export class NamelessFile {
  readonly descriptor: number
  private readonly purpose: Purpose
  private isOwn = true

  constructor(descriptor: number, purpose: Purpose) {
    this.descriptor = descriptor
    this.purpose = purpose
  }

  /** From now on somebody else closes it. */
  giveAway() {
    this.isOwn = false
  }

  /** Waits for the disk even when it is interrupted: by then the descriptor may be another file's. */
  append(bytes: Uint8Array) {
    return Effect.uninterruptible(attempt(this.purpose, () => promisify(writeFile)(this.descriptor, bytes)))
  }

  /** At most so many bytes from a position on, in a buffer of their own; fewer at the end. Waits as `append` does. */
  read(position: number, length: number) {
    const buffer = Buffer.allocUnsafeSlow(length)
    return Effect.uninterruptible(
      Effect.promise(() => promisify(read)(this.descriptor, buffer, 0, length, position))
    ).pipe(Effect.map(({ bytesRead }) => buffer.subarray(0, bytesRead)))
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

/** Opens a file that nobody else has; the descriptor. */
export const OpenFile = Context.Reference<() => Promise<number>>("route-planning-service/OpenFile", {
  defaultValue: () => openNameless
})

const opened = Effect.fnUntraced(function*(purpose: Purpose) {
  const openFile = yield* OpenFile
  return new NamelessFile(yield* attempt(purpose, openFile), purpose)
})

/** A new file for as long as the scope is open. `Unavailable` where the disk has none. */
export const namelessFile = (purpose: Purpose) => Effect.acquireRelease(opened(purpose), (file) => file.close())

/** Keeps what comes, for as long as the scope is open. `Unavailable` where it is not counted, or the disk does not. */
export const kept = Effect.fnUntraced(function*<E>(
  upload: Stream.Stream<Uint8Array, E>,
  count: CountBytes
): Effect.fn.Return<NamelessFile, E | Unavailable, Scope.Scope> {
  const file = yield* namelessFile("an upload")
  yield* Stream.runForEach(upload, (bytes) => Effect.andThen(count(bytes.length), file.append(bytes)))
  return file
})
