import { Effect, Redacted, Schedule, Schema, type Scope } from "effect"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { chown, mkdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { Client } from "pg"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { freePort } from "../development/FreePort.ts"
import { binariesFor, dataDirectoryFor, type Owner, postgresOwner } from "../development/PostgresBinaries.ts"
import { endingOf, type Keeper } from "./keeper.ts"

/** A PostgreSQL that can be killed, stopped and started again on its port and its data. Commits are flushed to the disk. */
export interface Postgres {
  readonly port: number
  /** The superuser's address of a database of the server. */
  readonly url: (database?: string) => string
  readonly start: Effect.Effect<void>
  /** SIGKILL to all of its processes at once. */
  readonly kill: Effect.Effect<void>
  /** SIGSTOP to all of its processes: it accepts connections and does not respond. */
  readonly stop: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  /** On a connection of its own. */
  readonly query: (statement: string, values?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<unknown>>
}

interface Settings {
  readonly directory: string
  readonly keeper: Keeper
  readonly maxConnections?: number
  /** The directory of the programs of another PostgreSQL than the embedded one. */
  readonly bin?: string
}

const READY = "database system is ready to accept connections"

export const childrenOf = async (pid: number) => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "")
  return text.split(" ").filter((child) => child !== "").map(Number)
}

export const signal = (pid: number, name: NodeJS.Signals) => {
  try {
    process.kill(pid, name)
  } catch {
    // It ended in between.
  }
}

const ready = (child: ChildProcess) =>
  new Promise<void>((resolve, reject) => {
    const lines: Array<string> = []
    if (child.stderr === null) return reject(new Error("PostgreSQL has no standard error"))
    createInterface({ input: child.stderr }).on("line", (line) => {
      if (lines.length < 50) lines.push(line)
      if (line.includes(READY)) resolve()
    })
    child.once("exit", () => reject(new Error(`PostgreSQL ended at its start:\n${lines.join("\n")}`)))
  })

export const queryAt = (url: string, statement: string, values: ReadonlyArray<unknown> = []) =>
  Effect.promise(async (): Promise<ReadonlyArray<unknown>> => {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 5000 })
    client.on("error", () => undefined)
    await client.connect()
    try {
      return (await client.query(statement, [...values])).rows
    } finally {
      await client.end()
    }
  })

export const countAt = (rows: ReadonlyArray<unknown>) =>
  Schema.decodeUnknownSync(Schema.Tuple([Schema.Struct({ count: Schema.Int })]))(rows)[0].count

const run = promisify(execFile)

/** A data directory of another PostgreSQL, in which every user of this machine is a superuser. */
const initialised = async (bin: string, directory: string, owner: Owner | undefined) => {
  await mkdir(directory, { recursive: true })
  if (owner !== undefined) await chown(directory, owner.uid, owner.gid)
  await run(join(bin, "initdb"), ["-D", directory, "-U", "postgres", "--auth=trust"], { ...owner, cwd: "/" })
  return "postgres://postgres@127.0.0.1/postgres"
}

/** Started, and killed when the scope closes. */
export const postgres: (settings: Settings) => Effect.Effect<Postgres, never, Scope.Scope> = Effect.fnUntraced(
  function*({ bin, directory: wanted, keeper, maxConnections = 60 }: Settings) {
    const owner = yield* Effect.promise(postgresOwner)
    const directory = yield* Effect.promise(() => dataDirectoryFor(wanted, owner))
    const made = bin === undefined
      ? Effect.map(Effect.scoped(embeddedPostgres({ directory: wanted, durable: true })), Redacted.value)
      : Effect.promise(() => initialised(bin, directory, owner))
    const address = new URL(yield* Effect.orDie(made))
    const programs = bin ?? (yield* Effect.promise(() => binariesFor(owner)))
    const port = yield* Effect.promise(() => freePort())
    address.port = String(port)
    const url = (database = "postgres") => new URL(`/${database}`, address).href
    const state: { child: ChildProcess | undefined; stopped: ReadonlyArray<number> } = { child: undefined, stopped: [] }

    const start = Effect.promise(async () => {
      const settings = ["unix_socket_directories=", "shared_buffers=128MB", `max_connections=${maxConnections}`]
      const child = spawn(
        join(programs, "postgres"),
        ["-D", directory, "-h", "127.0.0.1", "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
        { ...owner, cwd: "/", env: { LC_ALL: "C" }, stdio: ["ignore", "ignore", "pipe"] }
      )
      state.child = child
      keeper.add(child.pid ?? 0)
      await ready(child)
    }).pipe(Effect.sandbox, Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 25 }), Effect.orDie)

    const all = async () => {
      const pid = state.child?.pid
      return pid === undefined ? [] : [pid, ...await childrenOf(pid)]
    }

    const resume = Effect.sync(() => {
      state.stopped.forEach((pid) => signal(pid, "SIGCONT"))
      keeper.remove(...state.stopped.filter((pid) => pid !== state.child?.pid))
      state.stopped = []
    })

    const kill = Effect.promise(async () => {
      const pids = await all()
      pids.forEach((pid) => signal(pid, "SIGKILL"))
      if (state.child !== undefined) await endingOf(state.child)
      keeper.remove(...pids)
    }).pipe(Effect.andThen(resume))

    yield* Effect.acquireRelease(start, () => kill)
    return {
      port,
      url,
      start,
      kill,
      stop: Effect.promise(async () => {
        state.stopped = await all()
        keeper.add(...state.stopped)
        state.stopped.forEach((pid) => signal(pid, "SIGSTOP"))
      }),
      resume,
      query: (statement, values) => queryAt(url(), statement, values)
    }
  }
)
