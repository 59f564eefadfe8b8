import { Schema } from "effect"
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/**
 * `npm run check:dependencies` fails with one line for each dependency of `package.json` that is a patch behind. It
 * asks the registry, so it is no part of `npm run check`. `npm outdated` lists newer minor and major versions.
 */

const Versions = Schema.Record(Schema.String, Schema.String)

const Manifest = Schema.Struct({
  dependencies: Schema.optionalKey(Versions),
  devDependencies: Schema.optionalKey(Versions)
})

const Unreachable = Schema.Struct({ error: Schema.Struct({ summary: Schema.String }) })

const Outdated = Schema.Record(Schema.String, Schema.Struct({ wanted: Schema.String }))

const decodeManifest = Schema.decodeSync(Schema.fromJsonString(Manifest))

const decodeOutdated = Schema.decodeSync(Schema.fromJsonString(Schema.Union([Unreachable, Outdated])))

const isUnreachable = Schema.is(Unreachable)

/** npm ends with 1 if it lists a package, so only the output says whether it reached the registry. */
const outdatedIn = (cwd: string) =>
  new Promise<string>((resolve) =>
    void execFile("npm", ["outdated", "--json"], { cwd }, (_, stdout) => resolve(stdout))
  )

/**
 * The versions of `package.json` are exact, so npm wants no other. With `~` it wants the newest patch; without
 * `node_modules` it lists every package.
 */
const newestPatches = async (exact: typeof Versions.Type) => {
  const directory = await mkdtemp(join(tmpdir(), "dependencies-"))
  try {
    const dependencies = Object.fromEntries(Object.entries(exact).map(([name, version]) => [name, `~${version}`]))
    await writeFile(join(directory, "package.json"), JSON.stringify({ dependencies }))
    return decodeOutdated(await outdatedIn(directory))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const { dependencies, devDependencies } = decodeManifest(await readFile("package.json", "utf8"))
const exact = { ...dependencies, ...devDependencies }
const newest = await newestPatches(exact)

const problems = isUnreachable(newest)
  ? [newest.error.summary]
  : Object.entries(exact).flatMap(([name, version]) => {
    const patch = newest[name]?.wanted
    if (patch === version) return []
    return [patch === undefined ? `${name} is not in the registry` : `${name} ${version} is behind ${patch}`]
  })

for (const problem of problems) console.log(problem)
process.exitCode = problems.length === 0 ? 0 : 1
