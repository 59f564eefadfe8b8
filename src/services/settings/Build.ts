import { Config, Option, Result } from "effect"
import { readFileSync } from "node:fs"
import manifest from "../../../package.json" with { type: "json" }
import { settings } from "./Registry.ts"

const GIT = new URL("../../../.git/", import.meta.url)

const gitFile = (path: string) =>
  Option.map(Result.getSuccess(Result.try(() => readFileSync(new URL(path, GIT), "utf8"))), (text) => text.trim())

const packed = (ref: string) =>
  Option.flatMap(
    gitFile("packed-refs"),
    (refs) => Option.fromUndefinedOr(refs.split("\n").find((line) => line.endsWith(` ${ref}`))?.split(" ")[0])
  )

/** The commit of a clone. An unpacked archive has none. */
const cloned = () =>
  Option.flatMap(gitFile("HEAD"), (head) => {
    const ref = /^ref: (.*)$/.exec(head)?.[1]
    return ref === undefined ? Option.some(head) : Option.orElse(gitFile(ref), () => packed(ref))
  })

export interface Build {
  readonly version: string
  /** "unknown" where neither the image nor a clone says it. */
  readonly commit: string
}

/** The version of the package, and the commit of the image or of the clone. */
export const build = Config.map(settings.SOURCE_COMMIT, (given): Build => ({
  version: manifest.version,
  commit: Option.getOrElse(Option.orElse(given, cloned), () => "unknown")
}))
