import { NodeRuntime } from "@effect/platform-node"
import { Config, Console, Effect, Option, Result } from "effect"
import { existsSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { compared, EXPECTATIONS } from "../test/support/FileExpectations.ts"
import { roundOf } from "../test/support/FileRounds.ts"

/**
 * A folder with the schemas of TCX and KML, which are not ours to pass on; without it their exports are not validated.
 */
const schemas = Config.option(Config.String("SCHEMAS"))

const columns = (cells: ReadonlyArray<string>) =>
  cells.map((cell, index) => cell.padEnd(index === 0 ? 40 : 10)).join(" ")

const rowOf = Effect.fnUntraced(function*(folder: string, name: string, schemaFolder: string | undefined) {
  const bytes = yield* Effect.promise(() => readFile(join(folder, name)))
  const round = yield* Effect.result(roundOf(bytes, name, schemaFolder))
  if (Result.isFailure(round)) {
    return { isFine: true, text: columns([name, "refused", round.failure.message]) }
  }
  const { exports, positions, tracks, warnings } = round.success
  const isFine = exports.every(({ isSameAgain, validity }) => isSameAgain && /^(?:valid|no schema)$/.test(validity))
  const cells = exports.map(({ format, isSameAgain, validity }) =>
    `${format}: ${validity}, ${isSameAgain ? "same" : "OTHER"}`
  )
  return { isFine, text: columns([name, `${tracks} tracks`, `${positions} pos`, `${warnings} warn`, ...cells]) }
})

/** A folder with expectations is compared with these; any other one by what its files become in each format. */
const compareExpected = Effect.fnUntraced(function*(folder: string) {
  const results = yield* compared(folder)
  for (const { file, problems } of results) {
    yield* Console.log(columns([file, problems.length === 0 ? "as expected" : `OTHER: ${problems.join(", ")}`]))
  }
  const wrong = results.filter(({ problems }) => problems.length > 0).length
  yield* Console.log(`${results.length} files, ${wrong} not as expected`)
  if (wrong > 0) process.exitCode = 1
})

const run = Effect.gen(function*() {
  const folder = process.argv[2]
  if (folder === undefined) return yield* Effect.fail("Expected a folder: npm run check:files -- <folder>")
  if (existsSync(join(folder, EXPECTATIONS))) return yield* compareExpected(folder)
  const schemaFolder = Option.getOrUndefined(yield* schemas)
  if (schemaFolder === undefined) yield* Console.log("SCHEMAS is not set: TCX and KML are not validated")
  const entries = yield* Effect.promise(() => readdir(folder, { recursive: true, withFileTypes: true }))
  const names = entries.filter((entry) => entry.isFile()).map(({ name, parentPath }) =>
    join(parentPath, name).slice(join(folder, "/").length)
  )
  const wrong: Array<string> = []
  for (const name of names.toSorted()) {
    const { isFine, text } = yield* rowOf(folder, name, schemaFolder)
    yield* Console.log(text)
    if (!isFine) wrong.push(name)
  }
  yield* Console.log(
    `${names.length} files, ${wrong.length} with an export that is invalid or reads back as another route`
  )
  if (wrong.length > 0) process.exitCode = 1
})

NodeRuntime.runMain(run)
