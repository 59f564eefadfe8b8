import { Effect } from "effect"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A directory that is gone when the scope closes. PostgreSQL's user, who is not root, may pass through it. */
export const temporaryDirectory = Effect.acquireRelease(
  Effect.promise(async () => {
    const directory = await mkdtemp(join(tmpdir(), "route-planning-service-"))
    await chmod(directory, 0o711)
    return directory
  }),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)
