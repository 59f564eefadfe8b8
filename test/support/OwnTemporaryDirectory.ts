import { Effect } from "effect"
import { tmpdir } from "node:os"
import { temporaryDirectory } from "./TemporaryDirectory.ts"

/** Temporary files of this process are in the directory while the scope is open. */
export const keepTemporaryIn = (directory: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = tmpdir()
      process.env["TMPDIR"] = directory
      return before
    }),
    (before) =>
      Effect.sync(() => {
        process.env["TMPDIR"] = before
      })
  )

export const ownTemporaryDirectory = Effect.tap(temporaryDirectory, keepTemporaryIn)
