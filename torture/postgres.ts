import { Effect, Redacted, Schedule, Schema } from "effect"
import type { ChildProcess } from "node:child_process"
import { open, readFile } from "node:fs/promises"
import { join } from "node:path"
import { Client } from "pg"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { freePort } from "../development/FreePort.ts"
import { binariesFor, dataDirectoryFor, postgresOwner } from "../development/PostgresBinaries.ts"
import { ending, hasEnded, type Keeper } from "./keeper.ts"

const MAX_CONNECTIONS = 60

/** A failed start shows this many characters of the log. */
const LOG_END = 2000

export const childrenOf = async (pid: number) => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "")
  return text.split(" ").filter((child) => child !== "").map(Number)
}

export const signal = (pid: number, name: NodeJS.Signals) => {
  try {
    process.kill(pid, name)
  } catch {
    // The process ended in between.
  }
}

/** Runs a statement on a separate connection. Connecting and the statement may take `limit` milliseconds each. */
export const queryAt = (url: string, statement: string, values: ReadonlyArray<unknown> = [], limit?: number) =>
  Effect.promise(async (): Promise<ReadonlyArray<unknown>> => {
    const limits = limit === undefined ? {} : { query_timeout: limit }
    const client = new Client({ connectionString: url, connectionTimeoutMillis: limit ?? 5000, ...limits })
    client.on("error", () => undefined)
    try {
      await client.connect()
      return (await client.query(statement, [...values])).rows
    } finally {
      // A server that does not respond does not end the connection either.
      void client.end().catch(() => undefined)
    }
  })

export const countAt = (rows: ReadonlyArray<unknown>) =>
  Schema.decodeUnknownSync(Schema.Tuple([Schema.Struct({ count: Schema.Int })]))(rows)[0].count

/**
 * Starts a PostgreSQL that can be killed, stopped and started again on its port and its data, until the scope closes.
 * Commits are flushed to the disk.
 */
export const postgres = Effect.fnUntraced(function*(wanted: string, keeper: Keeper) {
  const owner = yield* Effect.promise(postgresOwner)
  const directory = yield* Effect.promise(() => dataDirectoryFor(wanted, owner))
  const made = yield* Effect.orDie(Effect.scoped(embeddedPostgres({ directory: wanted, durable: true })))
  const address = new URL(Redacted.value(made))
  const programs = yield* Effect.promise(() => binariesFor(owner))
  const port = String(yield* Effect.promise(() => freePort()))
  address.port = port
  const logPath = `${wanted}.log`
  const log = yield* Effect.acquireRelease(
    Effect.promise(() => open(logPath, "a")),
    (file) => Effect.promise(() => file.close())
  )
  const logEnd = Effect.promise(() => readFile(logPath, "utf8")).pipe(
    Effect.flatMap((text) => Effect.logError(`PostgreSQL did not start:\n${text.slice(-LOG_END)}`))
  )
  /** Returns the superuser's address of a database of the server. */
  const url = (database = "postgres") => new URL(`/${database}`, address).href
  const state: { child?: ChildProcess; stopped: ReadonlyArray<number> } = { stopped: [] }

  /** Starts the server again until it accepts connections: it ends if it finds processes of the last one. */
  const start = Effect.suspend(() => {
    if (state.child === undefined || hasEnded(state.child)) {
      const settings = ["unix_socket_directories=", "shared_buffers=128MB", `max_connections=${MAX_CONNECTIONS}`]
      state.child = keeper.spawn(
        join(programs, "postgres"),
        ["-D", directory, "-h", "127.0.0.1", "-p", port, ...settings.flatMap((setting) => ["-c", setting])],
        { ...owner, cwd: "/", env: { LC_ALL: "C" }, stdio: ["ignore", "ignore", log.fd] }
      )
    }
    return queryAt(url(), "SELECT")
  }).pipe(
    Effect.sandbox,
    Effect.retry({ schedule: Schedule.spaced("50 millis"), times: 1200 }),
    Effect.tapError(() => logEnd),
    Effect.orDie
  )

  const all = async () => {
    const pid = state.child?.pid
    return pid === undefined ? [] : [pid, ...await childrenOf(pid)]
  }

  const resume = Effect.sync(() => {
    state.stopped.forEach((pid) => signal(pid, "SIGCONT"))
    keeper.remove(...state.stopped.filter((pid) => pid !== state.child?.pid))
    state.stopped = []
  })

  /** Sends SIGKILL to all of its processes at once. */
  const kill = Effect.gen(function*() {
    const pids = yield* Effect.promise(all)
    pids.forEach((pid) => signal(pid, "SIGKILL"))
    if (state.child !== undefined) yield* ending(state.child)
    yield* resume
  })

  /** Sends SIGSTOP to all of its processes: the server accepts connections and does not respond. */
  const stop = Effect.promise(async () => {
    state.stopped = await all()
    keeper.add(...state.stopped)
    state.stopped.forEach((pid) => signal(pid, "SIGSTOP"))
  })

  yield* Effect.acquireRelease(start, () => kill)
  return { url, start, kill, stop, resume }
})
