import { Effect } from "effect"
import { execFile } from "node:child_process"
import { access } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Fault } from "../fault.ts"
import { audit } from "../ledger.ts"
import { load } from "../load.ts"
import { countAt, queryAt } from "../postgres.ts"
import { serving } from "../service.ts"
import { Skipped } from "../skipped.ts"
import { world } from "../world.ts"

const execute = promisify(execFile)

const SECONDS = { short: 2, full: 20 }

/** Returns the programs of a PostgreSQL with a `pg_dump` of the server's version, which the embedded one lacks. */
const programs = Effect.tryPromise({
  try: async () => {
    const { stdout } = await execute("pg_config", ["--bindir"])
    const bin = stdout.trim()
    await Promise.all(["initdb", "postgres", "pg_dump", "pg_restore"].map((name) => access(join(bin, name))))
    return bin
  },
  catch: () => new Skipped({ reason: "there is no pg_dump with a server of its version on this machine" })
})

const USERS = "SELECT count(*)::int AS count FROM users"

/** The database that is restored from a dump has everything that was acknowledged before the dump began. */
export const backup: Fault = {
  key: "backup",
  title: "backup under load, restored",
  run: Effect.fnUntraced(function*(run) {
    const { directory, form, keeper, recorder } = run
    const bin = yield* programs
    const own = yield* world(join(directory, "backup"), keeper, bin)
    const loading = (prefix: string) => load(run, own, { prefix: () => prefix, perSecond: 60 })
    const prefix = `${run.prefix}before`
    const before = yield* loading(prefix)
    yield* Effect.sleep(SECONDS[form] * 1000)
    yield* before.end
    const during = yield* loading(`${run.prefix}during`)
    const file = join(directory, "backup.dump")
    const source = own.postgres.url()
    yield* Effect.promise(() => execute(join(bin, "pg_dump"), ["--format=custom", `--file=${file}`, source]))
    yield* during.end

    yield* queryAt(source, "CREATE DATABASE restored")
    const url = own.postgres.url("restored")
    yield* Effect.promise(() => execute(join(bin, "pg_restore"), [`--dbname=${url}`, file]))
    const { ask } = yield* serving(keeper, { DATABASE_URL: url })
    const { status } = yield* ask({ path: "/api/v1/routes?limit=1", token: own.accounts[0]?.token })
    if (status !== 200) recorder.report(`a list of the restored service: ${status}`)
    const { acknowledged, ...found } = yield* audit(run, prefix, url)
    const [users, restored] = yield* Effect.forEach(
      [source, url],
      (url) => queryAt(url, USERS).pipe(Effect.map(countAt))
    )
    if (users !== restored) recorder.report("the restored database has other accounts")
    return { ...found, figures: [`${acknowledged} writes acknowledged before the dump`] }
  })
}
