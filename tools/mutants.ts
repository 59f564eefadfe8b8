import { spawn } from "node:child_process"
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, join, relative } from "node:path"
import { parseArgs } from "node:util"
import { mutated, type Mutation, mutationsOf } from "./Mutations.ts"

/**
 * Tests the tests: `npm run mutants -- --seed 7 --count 60`. Changes one operator, constant or word of SQL at a time in a copy of
 * the source, runs the tests that are nearest to the changed file, and prints what none of them noticed. `--only` takes changes
 * from the files whose path contains it, `--tests` runs so many files of tests for each, in two rounds.
 */
const { values: { count, only, seed, tests: most } } = parseArgs({
  options: {
    count: { type: "string", default: "60" },
    only: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
    tests: { type: "string", default: "24" }
  }
})

const ROOT = join(import.meta.dirname, "..")

const FIRST_ROUND = 8

/** A change that makes a test wait for ever is noticed. */
const RUN_TIMEOUT_MILLIS = 240_000

interface Source {
  readonly file: string
  readonly text: string
}

const sourcesIn = async (...folders: ReadonlyArray<string>): Promise<ReadonlyArray<Source>> => {
  const listed = await Promise.all(folders.map((folder) => readdir(join(ROOT, folder), { recursive: true })))
  const files = folders.flatMap((folder, n) => (listed[n] ?? []).map((name) => join(folder, name)))
  return Promise.all(
    files.filter((file) => file.endsWith(".ts")).toSorted().map(async (file) => ({
      file,
      text: await readFile(join(ROOT, file), "utf8")
    }))
  )
}

const FROM = /from "(\.[^"]+)"/g

const importsOf = ({ file, text }: Source) =>
  [...text.matchAll(FROM)].map(([, path = ""]) => relative(ROOT, join(ROOT, dirname(file), path)))

/** Words of the names in a path, without a plural's last letter: those of `routes/RouteViews.ts` are "route" and "view". */
const wordsOf = (path: string) =>
  new Set(
    basename(path, ".ts").replaceAll(/(?<=[a-z])(?=[A-Z])/g, ".").toLowerCase().split(".").concat(
      basename(dirname(path))
    )
      .map((word) => word.replace(/s$/, "")).filter((word) => word !== "test" && word !== "http" && word !== "service")
  )

/** The service as far as imports lead from a changed file: what stands further away is less likely to notice. */
const importersOf = (sources: ReadonlyArray<Source>, file: string) => {
  const distances = new Map([[file, 0]])
  for (const [path, distance] of distances) {
    for (const source of sources) {
      if (!distances.has(source.file) && importsOf(source).includes(path)) distances.set(source.file, distance + 1)
    }
  }
  return distances
}

/** Files of tests, the nearest first: those with the words of the changed file or of what imports it, then by their imports. */
const nearestTests = (sources: ReadonlyArray<Source>, tests: ReadonlyArray<Source>, file: string) => {
  const distances = importersOf(sources, file)
  const near = [...distances].filter(([, distance]) => distance <= 2)
  const scoreOf = (test: Source) => {
    const words = wordsOf(test.file)
    const named = near.reduce(
      (sum, [path, distance]) => sum + [...wordsOf(path)].filter((word) => words.has(word)).length / 4 ** distance,
      0
    )
    const imported = importsOf(test).reduce((sum, path) => sum + 2 / 4 ** (distances.get(path) ?? Infinity), 0)
    return named + imported
  }
  return tests.map((test) => ({ test: test.file, score: scoreOf(test) })).filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score).slice(0, Number(most)).map(({ test }) => test)
}

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
function* randomFrom(start: number) {
  for (let state = start + 0x6d2b79f5;; state += 0x6d2b79f5) {
    const mixed = Math.imul(state ^ state >>> 15, 1 | state)
    const again = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    yield ((again ^ again >>> 14) >>> 0) / 2 ** 32
  }
}

interface Candidate extends Source {
  readonly mutation: Mutation
}

const chosenFrom = (candidates: ReadonlyArray<Candidate>) => {
  const random = randomFrom(Number(seed))
  return Array.from({ length: Number(count) }).flatMap(() =>
    candidates[Math.floor((random.next().value ?? 0) * candidates.length)] ?? []
  )
}

const copied = async () => {
  const directory = await mkdtemp(join(tmpdir(), "mutants-"))
  const names = (await readdir(ROOT)).filter((name) => ![".git", "node_modules", ".data"].includes(name))
  await Promise.all(names.map((name) => cp(join(ROOT, name), join(directory, name), { recursive: true })))
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"))
  return directory
}

/** What vitest prints when tests fail, or nothing. */
const failureOf = (cwd: string, tests: ReadonlyArray<string>) =>
  new Promise<string | undefined>((resolve) => {
    const args = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--bail", "1", ...tests]
    const child = spawn(process.execPath, args, { cwd, env: { ...process.env, NO_COLOR: "1" }, stdio: "pipe" })
    const chunks: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk))
    const timer = setTimeout(() => child.kill("SIGTERM"), RUN_TIMEOUT_MILLIS)
    child.once("close", (code) => {
      clearTimeout(timer)
      resolve(code === 0 ? undefined : Buffer.concat(chunks).toString())
    })
  })

const failedTest = (output: string) => /FAIL +((\S+\.test\.ts).*)/.exec(output)

/** Files of tests that fail without a change, and say nothing of one. */
const broken = new Set<string>()

/** The test that notices a change, or nothing. */
const noticing = async (
  directory: string,
  { file, mutation, text }: Candidate,
  nearest: ReadonlyArray<string>
): Promise<string | undefined> => {
  const path = join(directory, file)
  const tests = nearest.filter((test) => !broken.has(test))
  for (const round of [tests.slice(0, FIRST_ROUND), tests.slice(FIRST_ROUND)]) {
    if (round.length === 0) return undefined
    await writeFile(path, mutated(text, mutation))
    const output = await failureOf(directory, round)
    await writeFile(path, text)
    if (output === undefined) continue
    const [, title, test] = failedTest(output) ?? []
    if (title === undefined || test === undefined) return "a run that did not end"
    if (await failureOf(directory, [test]) === undefined) return title
    broken.add(test)
    return noticing(directory, { file, mutation, text }, nearest)
  }
  return undefined
}

const placeOf = ({ file, mutation: { after, before, offset }, text }: Candidate) => {
  const line = text.slice(0, offset).split("\n").length
  return `${file}:${line}: ${before} -> ${after === "" ? "nothing" : after}: ${text.split("\n")[line - 1]?.trim()}`
}

const sources = await sourcesIn("src")
const tests = (await sourcesIn("test")).filter(({ file }) => file.endsWith(".test.ts"))
const chosen = chosenFrom(
  sources.filter(({ file }) => /^src\/(?:services|http)\//.test(file) && file.includes(only))
    .flatMap(({ file, text }) => mutationsOf(text).map((mutation) => ({ file, text, mutation })))
)
const directory = await copied()
const survivors: Array<string> = []
const state = { tried: 0 }
try {
  for (const candidate of chosen) {
    const by = await noticing(directory, candidate, nearestTests(sources, tests, candidate.file))
    state.tried += 1
    if (by === undefined) survivors.push(placeOf(candidate))
    console.log(`${placeOf(candidate)}\n    ${by ?? "NOT NOTICED"}`)
  }
} finally {
  await rm(directory, { recursive: true })
}
console.log([`${survivors.length} of ${state.tried} not noticed`, ...survivors].join("\n"))
