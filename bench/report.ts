import { Console, DateTime, Effect } from "effect"
import { execFileSync } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { availableParallelism, cpus, loadavg } from "node:os"
import { join } from "node:path"

const DOCUMENT = join(import.meta.dirname, "../docs/performance.md")

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).trim()

const source = Effect.gen(function*() {
  const date = DateTime.formatIsoDateUtc(yield* DateTime.now)
  const commit = git("rev-parse", "--short", "HEAD")
  const changed = git("status", "--short", "--", "../src") === "" ? "" : ", changed"
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model}), load ${loadavg()[0]?.toFixed(1)} before`
  return `${machine}; commit ${commit}${changed}; ${date}`
})

/** Puts lines between the markers of a section of `docs/performance.md`, if the command line has `--write`. */
const write = async (section: string, lines: ReadonlyArray<string>) => {
  if (!process.argv.includes("--write")) return
  const [start, end] = [`<!-- ${section} -->`, `<!-- end of ${section} -->`]
  const [before, rest = ""] = (await readFile(DOCUMENT, "utf8")).split(start)
  await writeFile(DOCUMENT, [before, start, "\n\n", lines.join("\n"), "\n\n", end, rest.split(end)[1]].join(""))
}

export const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`

export const heading = (names: ReadonlyArray<string>) => `${line(names)}\n|${"---|".repeat(names.length)}`

/** Prints a table of the document and writes it after each line, so that an interrupted bench leaves the lines before. */
export const openTable = Effect.fnUntraced(function*(section: string, head: ReadonlyArray<string>) {
  const lines: Array<string> = []
  const add = Effect.fnUntraced(function*(line: string) {
    lines.push(line)
    yield* Console.log(line)
    yield* Effect.promise(() => write(section, lines))
  })
  yield* add(`${yield* source}.\n`)
  yield* add(heading(head))
  return { row: (cells: ReadonlyArray<string>) => add(line(cells)), note: (text: string) => add(`\n${text}`) }
})
