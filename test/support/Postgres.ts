import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { embeddedPostgres } from "../../development/EmbeddedDatabase.ts"
import { databaseAt, migrated, TEMPLATE } from "./Databases.ts"
import { pooler } from "./Pooler.ts"
import { directoryInMemory } from "./TemporaryDirectory.ts"

declare module "vitest" {
  export interface ProvidedContext {
    readonly postgresUrl: string
    /** The port is 0 without a pooler. */
    readonly poolerPort: number
  }
}

/** Nothing here lasts: preparing for later is not worth its processor time, and no standby copies the log. */
const SETTINGS = [
  "autovacuum=off",
  "jit=off",
  "wal_level=minimal",
  "max_wal_senders=0",
  "checkpoint_timeout=1h",
  "max_wal_size=2GB",
  // The socket is in the data directory, where the server runs.
  "unix_socket_directories=."
]

/** Returns the address of the server's socket: a statement takes less processor time than by TCP, on both sides. */
const bySocket = Effect.fnUntraced(function*(address: Redacted.Redacted<string>) {
  const [row] = yield* SqlClient.SqlClient.use((sql) =>
    sql<{ readonly directory: string }>`SELECT current_setting('data_directory') AS directory`
  ).pipe(Effect.provide(PgClient.layer({ url: address, maxConnections: 1 })))
  const url = new URL(Redacted.value(address))
  url.searchParams.set("host", row?.directory ?? "")
  return url.href
})

/**
 * Starts one server for the whole run, with one migrated database that each test file clones. On a disk a clone takes
 * ten times as long: the more files ext4 has just removed, the longer it looks for the place of a new one.
 */
const start = Effect.gen(function*() {
  const directory = yield* directoryInMemory
  const address = yield* embeddedPostgres({
    directory: join(directory, "postgres"),
    durable: false,
    settings: SETTINGS
  })
  const url = yield* bySocket(address)
  yield* SqlClient.SqlClient.use((sql) => sql`CREATE DATABASE ${sql(TEMPLATE)}`).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
  )
  yield* migrated(databaseAt(url, TEMPLATE))
  return url
})

export default async (project: TestProject) => {
  const scope = Scope.makeUnsafe()
  const url = await Effect.runPromise(Scope.provide(start, scope))
  project.provide("postgresUrl", url)
  const hasPooler = process.env["TEST_POOLER"] === "true"
  project.provide("poolerPort", hasPooler ? await Effect.runPromise(Scope.provide(pooler(url), scope)) : 0)
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}
