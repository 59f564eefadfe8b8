import { Effect, Exit, Redacted, Scope } from "effect"
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import { embeddedPostgres } from "../../development/EmbeddedDatabase.ts"
import { dataDirectoryFor, passwordFile, postgresOwner } from "../../development/PostgresBinaries.ts"
import { directoryInMemory } from "./TemporaryDirectory.ts"

const run = promisify(execFile)

/** A commit that is on its way to the standby as soon as it is acknowledged. */
const SETTINGS = ["wal_level=replica", "synchronous_commit=on", "autovacuum=off", "jit=off"]

const query = (url: string, statement: string) =>
  Effect.promise(async (): Promise<ReadonlyArray<unknown>> => {
    const client = new Client(url)
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  })

/** A copy of the data of a server that does not run. */
const copied = async (wanted: string, to: string) => {
  const owner = await postgresOwner()
  const [from, copy] = await Promise.all([dataDirectoryFor(wanted, owner), dataDirectoryFor(to, owner)])
  await run("cp", ["-a", from, copy])
  await run("cp", ["-a", passwordFile(from), passwordFile(copy)])
  await writeFile(join(copy, "standby.signal"), "")
}

const conninfo = (url: string) => {
  const { hostname, password, port, username } = new URL(url)
  return `host=${hostname} port=${port} user=${username} password=${password}`
}

/** A primary and a standby that replays what it streams. */
export const primaryWithStandby = Effect.gen(function*() {
  const directory = yield* directoryInMemory
  const place = { primary: join(directory, "primary"), standby: join(directory, "standby") }
  yield* Effect.scoped(embeddedPostgres({ directory: place.primary, durable: false }))
  yield* Effect.promise(() => copied(place.primary, place.standby))
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const options = { durable: false, settings: SETTINGS }
  const primary = Redacted.value(
    yield* Scope.provide(embeddedPostgres({ directory: place.primary, ...options }), scope)
  )
  const standbyScope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const standby = Redacted.value(
    yield* Scope.provide(
      embeddedPostgres({
        directory: place.standby,
        ...options,
        settings: [...SETTINGS, `primary_conninfo=${conninfo(primary)}`]
      }),
      standbyScope
    )
  )
  return {
    primary,
    standby,
    onStandby: (statement: string) => query(standby, statement),
    /** What is committed from now on does not appear on the standby, which streams it nevertheless. */
    pause: Effect.asVoid(query(standby, "SELECT pg_wal_replay_pause()")),
    resume: Effect.asVoid(query(standby, "SELECT pg_wal_replay_resume()")),
    stopPrimary: Scope.close(scope, Exit.void),
    stopStandby: Scope.close(standbyScope, Exit.void)
  }
})
