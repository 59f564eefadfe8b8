import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, chownSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../development/FreePort.ts"
import { postgresOwner } from "../../development/PostgresBinaries.ts"
import { temporaryDirectory } from "./TemporaryDirectory.ts"

const PROGRAM = "pgbouncer"

/** Debian's package pgbouncer has the program. */
export const hasPooler = spawnSync(PROGRAM, ["--version"]).error === undefined

/** A role in production would have these limits. */
const LIMITS = "SET statement_timeout = 5000; SET lock_timeout = 2000; SET idle_in_transaction_session_timeout = 10000"

/** Returns the settings by which the service uses the pooler of a database. */
export const pooled = (url: string, port: number) => {
  const address = new URL(url)
  address.port = String(port)
  address.searchParams.delete("host")
  return { DATABASE_URL: address.href, DATABASE_LISTEN_URL: url, DATABASE_PREPARED_STATEMENTS: "false" }
}

/** Starts PgBouncer before a server: each transaction gets any free connection. Returns the port. */
export const pooler = Effect.fnUntraced(function*(url: string, hasLimits = true) {
  const directory = yield* temporaryDirectory
  const owner = yield* Effect.promise(postgresOwner)
  const port = yield* Effect.promise(() => freePort())
  const { hostname, password, port: server, username } = new URL(url)
  const file = join(directory, "pgbouncer.ini")
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${server} user=${username} password=${password}${
      hasLimits ? ` connect_query='${LIMITS}'` : ""
    }
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 20
server_idle_timeout = 5
`
  )
  chmodSync(file, 0o600)
  if (owner !== undefined) chownSync(file, owner.uid, owner.gid)
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(PROGRAM, [file], { ...owner, cwd: "/", stdio: ["ignore", "ignore", "pipe"] })),
    (child) =>
      Effect.promise(() => {
        const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
        child.kill("SIGKILL")
        return ended
      })
  )
  yield* Effect.promise(() =>
    new Promise<void>((resolve, reject) => {
      const lines: Array<string> = []
      child.stderr.on("data", (chunk: Buffer) => {
        lines.push(String(chunk))
        if (lines.join("").includes("process up")) resolve()
      })
      child.once("close", () => reject(new Error(lines.join(""))))
    })
  )
  return port
})
