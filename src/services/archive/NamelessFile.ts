import { Effect, type Scope, Stream } from "effect"
import { close, open, writeFile } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Unavailable } from "../../schema/Errors.ts"
import type { CountBytes } from "./ImportDisk.ts"

/** Only an operator can mend a disk that is full or cannot be written, and the client did nothing wrong. */
const withoutRoom = (error: unknown) =>
  Effect.andThen(
    Effect.logError("an upload cannot be kept", error),
    Effect.fail(new Unavailable({ message: "There is no room for an upload now: try again later" }))
  )

const attempt = <A>(work: () => Promise<A>) =>
  Effect.tryPromise(work).pipe(Effect.catch(({ cause }) => withoutRoom(cause)))

/** A file in the temporary directory that no directory names: it ends with the process, in whatever way that ends. */
export class NamelessFile {
  readonly descriptor: number
  private isOwn = true

  constructor(descriptor: number) {
    this.descriptor = descriptor
  }

  /** From now on somebody else closes it. */
  giveAway() {
    this.isOwn = false
  }

  /** Waits for the disk even when it is interrupted: by then the descriptor may be another file's. */
  append(bytes: Uint8Array) {
    return Effect.uninterruptible(attempt(() => promisify(writeFile)(this.descriptor, bytes)))
  }

  close() {
    return this.isOwn ? Effect.promise(() => promisify(close)(this.descriptor)) : Effect.void
  }
}

const opened = attempt(async () => {
  const directory = await mkdtemp(join(tmpdir(), "account-import-"))
  try {
    return new NamelessFile(await promisify(open)(join(directory, "archive"), "wx+", 0o600))
  } finally {
    await rm(directory, { recursive: true })
  }
})

/** Keeps what comes, for as long as the scope is open. `Unavailable` where it is not counted, or the disk does not. */
export const kept = Effect.fnUntraced(function*<E>(
  upload: Stream.Stream<Uint8Array, E>,
  count: CountBytes
): Effect.fn.Return<NamelessFile, E | Unavailable, Scope.Scope> {
  const file = yield* Effect.acquireRelease(opened, (file) => file.close())
  yield* Stream.runForEach(upload, (bytes) => Effect.andThen(count(bytes.length), file.append(bytes)))
  return file
})
