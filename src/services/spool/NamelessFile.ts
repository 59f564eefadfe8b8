import { Context, Effect, type Scope, Stream } from "effect"
import { close, open, read, writeFile } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Overloaded } from "../DomainErrors.ts"
import type { CountBytes } from "./ImportDisk.ts"

type Purpose = "upload" | "download"

const withoutRoom = (purpose: Purpose, error: unknown) =>
  Effect.andThen(
    Effect.logError(`the ${purpose} was not written`, error),
    Effect.fail(new Overloaded({ reason: `${purpose}_disk` }))
  )

const attempt = <A>(purpose: Purpose, work: () => Promise<A>) =>
  Effect.tryPromise(work).pipe(Effect.catch(({ cause }) => withoutRoom(purpose, cause)))

/** Unlinked, so that it ends with the process in any case. */
export class NamelessFile {
  readonly descriptor: number
  private readonly purpose: Purpose
  private isOwn = true

  constructor(descriptor: number, purpose: Purpose) {
    this.descriptor = descriptor
    this.purpose = purpose
  }

  giveAway() {
    this.isOwn = false
  }

  /** Not interruptible: the descriptor could belong to another file by then. */
  append(bytes: Uint8Array) {
    return Effect.uninterruptible(attempt(this.purpose, () => promisify(writeFile)(this.descriptor, bytes)))
  }

  /** Fewer bytes at the end. Not interruptible, as `append`. */
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

export const OpenFile = Context.Reference<() => Promise<number>>("route-planning-service/OpenFile", {
  defaultValue: () => openNameless
})

const opened = Effect.fnUntraced(function*(purpose: Purpose) {
  const openFile = yield* OpenFile
  return new NamelessFile(yield* attempt(purpose, openFile), purpose)
})

export const namelessFile = (purpose: Purpose) => Effect.acquireRelease(opened(purpose), (file) => file.close())

export const kept = Effect.fnUntraced(function*<E>(
  upload: Stream.Stream<Uint8Array, E>,
  count: CountBytes
): Effect.fn.Return<NamelessFile, E | Overloaded, Scope.Scope> {
  const file = yield* namelessFile("upload")
  yield* Stream.runForEach(upload, (bytes) => Effect.andThen(count(bytes.length), file.append(bytes)))
  return file
})
