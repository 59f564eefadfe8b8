import { Config, Option, Result } from "effect"
import { readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import manifest from "../../../package.json" with { type: "json" }
import { settings } from "./SettingsRegistry.ts"

const textOf = (path: string) =>
  Option.map(Result.getSuccess(Result.try(() => readFileSync(path, "utf8"))), (text) => text.trim())

/**
 * Finds the commit of a clone by the path of its `.git`. In a linked work tree that is a file, which names a directory
 * with the work tree's own HEAD; the branches are in the clone's. An unpacked archive has no commit.
 */
export const commitAt = (git: string) => {
  const own = Option.match(textOf(git), {
    onNone: () => git,
    onSome: (text) => resolve(dirname(git), text.replace(/^gitdir: /, ""))
  })
  const shared = Option.match(textOf(join(own, "commondir")), {
    onNone: () => own,
    onSome: (path) => resolve(own, path)
  })
  const packed = (ref: string) =>
    Option.flatMap(
      textOf(join(shared, "packed-refs")),
      (refs) => Option.fromUndefinedOr(refs.split("\n").find((line) => line.endsWith(` ${ref}`))?.split(" ")[0])
    )
  return Option.flatMap(textOf(join(own, "HEAD")), (head) => {
    const ref = /^ref: (.*)$/.exec(head)?.[1]
    return ref === undefined ? Option.some(head) : Option.orElse(textOf(join(shared, ref)), () => packed(ref))
  })
}

/** The version is that of the package, the commit that of the image or of the clone, "unknown" without both. */
export const build = Config.map(settings.SOURCE_COMMIT, (given) => ({
  version: manifest.version,
  commit: Option.getOrElse(
    Option.orElse(given, () => commitAt(fileURLToPath(new URL("../../../.git", import.meta.url)))),
    () => "unknown"
  )
}))
