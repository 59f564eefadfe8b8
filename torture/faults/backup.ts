import { Effect } from "effect"
import { execFile } from "node:child_process"
import { access } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { asking } from "../ask.ts"
import { type Fault, outcomeOf } from "../fault.ts"
import { audit } from "../ledger.ts"
import { load } from "../load.ts"
import { formOf } from "../options.ts"
import { queryAt } from "../postgres.ts"
import { makeRecorder } from "../recorder.ts"
import { service } from "../service.ts"
import { Skipped } from "../skipped.ts"
import { world } from "../world.ts"

const run = promisify(execFile)

const SECONDS = { short: 2, full: 20 }

/** The programs of a whole PostgreSQL, which the embedded one is not: its server and its `pg_dump` are of one version. */
const programs = Effect.tryPromise({
  try: async () => {
    const { stdout } = await run("pg_config", ["--bindir"])
    const bin = stdout.trim()
    await Promise.all(["initdb", "postgres", "pg_dump", "pg_restore"].map((name) => access(join(bin, name))))
    return bin
  },
  catch: () => new Skipped("there is no pg_dump with a server of its version on this machine")
})

/** The database that is restored from a dump has all that was acknowledged before the dump began. */
export const backup: Fault = {
  key: "backup",
  title: "backup under load, restored",
  isInShortForm: false,
  run: Effect.fnUntraced(function*(torture) {
    const bin = yield* programs
    const form = formOf(torture.options)
    const own = yield* world(join(torture.directory, "backup"), torture.keeper, bin)
    const recorder = makeRecorder()
    const loading = (prefix: string) =>
      load({
        asking: own.asking,
        accounts: own.accounts,
        ledger: torture.ledger,
        recorder,
        prefix: () => prefix,
        perSecond: 60
      })
    const before = yield* loading(`${torture.prefix}before`)
    yield* Effect.sleep(SECONDS[form] * 1000)
    yield* before.end
    const during = yield* loading(`${torture.prefix}during`)
    const file = join(torture.directory, "backup.dump")
    yield* Effect.promise(() => run(join(bin, "pg_dump"), ["--format=custom", `--file=${file}`, own.postgres.url()]))
    yield* during.end

    yield* own.postgres.query("CREATE DATABASE restored")
    const url = own.postgres.url("restored")
    yield* Effect.promise(() => run(join(bin, "pg_restore"), [`--dbname=${url}`, file]))
    const restored = yield* service(torture.keeper, { DATABASE_URL: url })
    yield* restored.spawn
    if (!(yield* restored.ready)) recorder.report("the service is not ready on the restored database")
    const client = asking(restored.origin)
    const [account] = own.accounts
    const { status } = yield* Effect.promise(() =>
      client.ask({ path: "/api/v1/routes?limit=1", token: account?.token })
    )
    client.close()
    if (status !== 200) recorder.report(`a list of the restored service: ${status}`)
    const { acknowledged, lost, twice } = yield* audit(torture.ledger, `${torture.prefix}before`, url)
    const tables = "SELECT count(*)::int AS count FROM users"
    const same = JSON.stringify(yield* queryAt(url, tables)) === JSON.stringify(yield* own.postgres.query(tables))
    if (!same) recorder.report("the restored database has other accounts")
    return outcomeOf(recorder, {
      requests: recorder.requests(),
      lost,
      twice,
      figures: [`${acknowledged} writes acknowledged before the dump`]
    })
  })
}
