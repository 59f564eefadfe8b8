import { type ChildProcess, fork } from "node:child_process"
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, join, relative } from "node:path"
import { parseArgs } from "node:util"
import { ACCEPTED } from "./AcceptedMutants.ts"
import { mutated, type Mutation, mutationsOf } from "./Mutations.ts"

/**
 * Tests the tests: `npm run mutants -- --seed 1 --count 60`. Changes one operator, constant or word of SQL at a time in
 * a copy of the source, runs the nearest tests to the changed file, and prints the changes that none of them noticed.
 * `--only` takes changes from the files whose path contains it, `--tests` sets the number of test files for each
 * change, and `--from` continues an ended run. `AcceptedMutants.ts` has the changes that no test is to notice.
 */
const { values: { count, from, only, seed, tests: most } } = parseArgs({
  options: {
    count: { type: "string", default: "60" },
    from: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
    tests: { type: "string", default: "24" }
  }
})

const ROOT = join(import.meta.dirname, "..")

/** A change that makes a test wait for ever counts as noticed after this time. */
const timeoutMillis = (tests: ReadonlyArray<string>) => 120_000 + 10_000 * tests.length

/** These tests take long, so others of the same distance run before them. */
const SLOW = /\/process\/|\.browser\.|\.heavy\./

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

/** Returns words of a path, without a plural's last letter: `routes/RouteViews.ts` has "route" and "view". */
const wordsOf = (path: string) =>
  new Set(
    basename(path, ".ts").replaceAll(/(?<=[a-z])(?=[A-Z])/g, ".").toLowerCase().split(".").concat(
      basename(dirname(path))
    )
      .map((word) => word.replace(/s$/, "")).filter((word) => word !== "test" && word !== "http" && word !== "service")
  )

/** Returns the importers of a changed file by distance: one further away is less likely to notice a change. */
const importersOf = (sources: ReadonlyArray<Source>, file: string) => {
  const distances = new Map([[file, 0]])
  for (const [path, distance] of distances) {
    for (const source of sources) {
      if (!distances.has(source.file) && importsOf(source).includes(path)) distances.set(source.file, distance + 1)
    }
  }
  return distances
}

const vocabularyOf = ({ text }: Source) =>
  new Set(text.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase().match(/[a-z]{4,}/g) ?? [])

type Score = (test: Source) => number

/** Scores a test by its imports, and by the words in its name that the changed file or its importers have. */
const scoreByName = (sources: ReadonlyArray<Source>, file: string): Score => {
  const distances = importersOf(sources, file)
  const near = [...distances].filter(([, distance]) => distance <= 2)
  return (test) => {
    const words = wordsOf(test.file)
    const named = near.reduce(
      (sum, [path, distance]) => sum + [...wordsOf(path)].filter((word) => words.has(word)).length / 4 ** distance,
      0
    )
    return named + importsOf(test).reduce((sum, path) => sum + 2 / 4 ** (distances.get(path) ?? Infinity), 0)
  }
}

/** Scores the words that the changed file and a test share; words of few tests count most. */
const scoreByText = (tests: ReadonlyArray<Source>, changed: Source): Score => {
  const vocabularies = new Map(tests.map((test) => [test.file, vocabularyOf(test)]))
  const counts = new Map<string, number>()
  for (const words of vocabularies.values()) {
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  const words = [...vocabularyOf(changed)]
  return ({ file }) => {
    const vocabulary = vocabularies.get(file) ?? new Set()
    return words.filter((word) => vocabulary.has(word)).reduce(
      (sum, word) => sum + Math.log(tests.length / (counts.get(word) ?? 1)) ** 2,
      0
    ) / Math.sqrt(vocabulary.size)
  }
}

/** Returns files of tests, the nearest first, in turn by either score. */
const nearestTests = (sources: ReadonlyArray<Source>, tests: ReadonlyArray<Source>, changed: Source) => {
  const [byName = [], byText = []] = [scoreByName(sources, changed.file), scoreByText(tests, changed)].map((scoreOf) =>
    tests.map((test) => ({ test: test.file, score: scoreOf(test) / (SLOW.test(test.file) ? 4 : 1) }))
      .filter(({ score }) => score > 0).toSorted((a, b) => b.score - a.score).map(({ test }) => test)
  )
  return [...new Set(byText.flatMap((test, n) => byName.slice(n, n + 1).concat(test)))].slice(0, Number(most))
}

/** Returns numbers from 0 to 1 that a seed determines (mulberry32). */
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

const isOutcome = (message: unknown): message is { readonly failure?: string } =>
  typeof message === "object" && message !== null

const running: { child: ChildProcess | undefined } = { child: undefined }

/** The runner leads its own group of processes, with the forks of vitest and the database. */
const startRunner = (cwd: string) =>
  fork(join(cwd, "tools/testRunner.ts"), { cwd, detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"] })

const HANGING = "a run that did not end"

/** Returns the first test that fails, or undefined. */
const failureOf = (cwd: string, tests: ReadonlyArray<string>) =>
  new Promise<string | undefined>((resolve) => {
    const child = running.child ??= startRunner(cwd)
    const end = (failure: string | undefined) => {
      clearTimeout(timer)
      child.removeAllListeners("message").removeAllListeners("exit")
      if (failure === HANGING) {
        running.child = undefined
        if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL")
      }
      resolve(failure)
    }
    const timer = setTimeout(() => end(HANGING), timeoutMillis(tests))
    child.once("message", (message) => end(isOutcome(message) ? message.failure : undefined))
    child.once("exit", () => end(HANGING))
    child.send(tests)
  })

const endRunner = () => {
  running.child?.disconnect()
  running.child = undefined
}

/** True marks a failed file of tests that also fails without a change, and so says nothing of one. */
const broken = new Map<string, boolean>()

const failureWith = async (
  directory: string,
  { file, mutation, text }: Candidate,
  tests: ReadonlyArray<string>
): Promise<string | undefined> => {
  // The database of a running runner belongs to the unchanged source.
  if (file.startsWith("src/services/db/")) endRunner()
  await writeFile(join(directory, file), mutated(text, mutation))
  const failure = await failureOf(directory, tests)
  await writeFile(join(directory, file), text)
  if (file.startsWith("src/services/db/")) endRunner()
  return failure
}

/** Returns the test that fails twice with a change, `HANGING`, or undefined. */
const noticing = async (
  directory: string,
  candidate: Candidate,
  nearest: ReadonlyArray<string>
): Promise<string | undefined> => {
  const tests = nearest.filter((test) => broken.get(test) !== true)
  if (tests.length === 0) return undefined
  const failure = await failureWith(directory, candidate, tests)
  if (failure === undefined || failure === HANGING) return failure
  const test = tests.find((name) => failure.startsWith(name)) ?? ""
  const again = await failureWith(directory, candidate, [test])
  if (!broken.has(test)) broken.set(test, await failureOf(directory, [test]) !== undefined)
  if (again !== undefined && broken.get(test) === false) return again
  // A busy machine may have disturbed the test.
  return noticing(directory, candidate, tests.filter((name) => name !== test))
}

const placeOf = ({ file, mutation: { after, before, offset }, text }: Candidate) => {
  const line = text.slice(0, offset).split("\n").length
  return `${file}:${line}: ${before} -> ${after === "" ? "nothing" : after}: ${text.split("\n")[line - 1]?.trim()}`
}

const reasonOf = ({ file, mutation, text }: Candidate) => {
  const line = mutated(text, mutation).split("\n")[text.slice(0, mutation.offset).split("\n").length - 1]?.trim()
  return ACCEPTED.find((accepted) => accepted.file === file && accepted.line === line)?.reason
}

const sources = await sourcesIn("src")
const tests = (await sourcesIn("test")).filter(({ file }) => file.endsWith(".test.ts"))
const chosen = chosenFrom(
  sources.filter(({ file }) => /^src\/(?:services|http)\//.test(file) && file.includes(only))
    .flatMap(({ file, text }) => mutationsOf(text).map((mutation) => ({ file, text, mutation })))
).slice(Number(from) - 1)
const directory = await copied()
const survivors: Array<string> = []
const state = { tried: 0, accepted: 0 }
try {
  for (const candidate of chosen) {
    const reason = reasonOf(candidate)
    const by = reason === undefined
      ? await noticing(directory, candidate, nearestTests(sources, tests, candidate))
      : undefined
    state.tried += 1
    if (reason !== undefined) state.accepted += 1
    else if (by === undefined) survivors.push(placeOf(candidate))
    console.log(`${placeOf(candidate)}\n    ${by ?? reason ?? "NOT NOTICED"}`)
  }
} finally {
  endRunner()
  await rm(directory, { recursive: true })
}
console.log(
  [`${survivors.length} of ${state.tried} not noticed, ${state.accepted} more have a reason`, ...survivors].join("\n")
)
