import { Effect } from "effect"
import { chmod, mkdtemp, rm, statfs } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

const GIB = 1024 ** 3

const MEMORY = "/dev/shm"

const directoryIn = (parent: Effect.Effect<string>) =>
  Effect.acquireRelease(
    Effect.flatMap(parent, (path) =>
      Effect.promise(async () => {
        const directory = await mkdtemp(join(path, "route-planning-service-"))
        await chmod(directory, 0o711)
        return directory
      })),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  )

/** Makes a directory that is gone when the scope closes. PostgreSQL's user, who is not root, may pass through it. */
export const temporaryDirectory = directoryIn(Effect.sync(tmpdir))

const roomInMemory = Effect.promise(() => statfs(MEMORY).then(({ bavail, bsize }) => bavail * bsize, () => 0))

/** Makes such a directory in memory, if there is a file system with 2 GiB to spare. */
export const directoryInMemory = directoryIn(
  Effect.map(roomInMemory, (bytes) => bytes < 2 * GIB ? tmpdir() : MEMORY)
)
