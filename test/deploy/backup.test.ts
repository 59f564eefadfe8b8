import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, globSync, mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { until } from "../support/Waiting.ts"

const SCRIPT = resolve(import.meta.dirname, "../../deploy/hosting/backup.sh")

const DAY = 86_400_000

/** Starts the script with programs that stand for those of PostgreSQL, of which pg_dump does this with its file. */
const backup = Effect.fnUntraced(function*(dump: string) {
  const directory = yield* temporaryDirectory
  const [bin, folder] = [join(directory, "bin"), join(directory, "backups")]
  for (const made of [bin, folder]) mkdirSync(made)
  const program = (name: string, text: string) =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  program("pg_dump", `for file in "$@"; do file="\${file#--file=}"; case "$file" in /*) ${dump};; esac; done`)
  for (const name of ["dropdb", "createdb", "pg_restore", "psql"]) program(name, "exit 0")
  const write = (name: string, ageMs = 0) => {
    const at = new Date(Date.now() - ageMs)
    writeFileSync(join(folder, name), "personal data")
    utimesSync(join(folder, name), at, at)
  }
  const start = Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("sh", [SCRIPT, "routes", "14", folder], {
        detached: true,
        stdio: "ignore",
        env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` }
      })
      const code = new Promise<number | null>((resolve) => child.once("close", resolve))
      return { child, code: Effect.promise(() => code) }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )
  return { folder, start, write, files: () => globSync("*", { cwd: folder }).toSorted() }
})

it.live("a backup that is stopped leaves nothing of the database", () =>
  Effect.gen(function*() {
    const { files, start } = yield* backup("echo data > \"$file\"; sleep 60")
    const { child, code } = yield* start
    yield* until(Effect.sync(() => files().length === 1))
    // systemd signals all processes of a unit.
    process.kill(-(child.pid ?? 0), "SIGTERM")
    assert.strictEqual(yield* code, 143)
    assert.deepStrictEqual(files(), [])
  }).pipe(Effect.scoped))

it.live(
  "a backup removes what one that was killed has left, and backups of more than its days",
  () =>
    Effect.gen(function*() {
      const { files, folder, start, write } = yield* backup("echo data > \"$file\"")
      const kept = ["routes-20260102T000000Z.dump", "routes-more-20260101T000000Z.dump.partial"]
      write("routes-20260101T000000Z.dump.partial")
      write("routes-20260101T000000Z.dump", 14.1 * DAY)
      for (const name of kept) write(name, 13.9 * DAY)
      const { code } = yield* start
      assert.strictEqual(yield* code, 0)
      assert.isTrue(kept.every((name) => existsSync(join(folder, name))))
      assert.lengthOf(files(), kept.length + 1)
    }).pipe(Effect.scoped)
)
