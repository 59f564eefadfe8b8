import { Effect, Schema } from "effect"
import { type ChildProcess, execFile } from "node:child_process"
import { globSync } from "node:fs"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { promisify } from "node:util"
import { dataDirectoryFor, type Owner, postgresOwner } from "../development/PostgresBinaries.ts"
import { PATH } from "../development/ProductionProcess.ts"
import { accounts } from "./accounts.ts"
import { type Ask, asking, creation, routeNamed } from "./ask.ts"
import { hasEnded, type Keeper } from "./keeper.ts"
import { childrenOf, queryAt, signal } from "./postgres.ts"
import { serving } from "./service.ts"
import { Skipped } from "./skipped.ts"
import { warmUp } from "./world.ts"

const DEPLOY = join(import.meta.dirname, "../deploy/ha")

const [POSTGRES = ""] = globSync("/usr/lib/postgresql/*/bin/postgres")

const BIN = dirname(POSTGRES)

const VENV = "/opt/patroni"

const SEARCHED = `${VENV}/bin:${BIN}:/usr/sbin:${PATH}`

const PROGRAMS = ["postgres", "etcd", "patroni", "patronictl", "haproxy", "pgbouncer", "nginx", "envsubst"]

/** These are the oldest versions that lose no write: `deploy/ha/README.md` says what older ones do. */
const OLDEST = { etcd: "3.5.13", patroni: "4.1" }

const INSTALLED =
  "deploy/ha/README.md has the commands that install them on Debian 13; Debian 12 needs etcd-server of Debian 13"

const env = { PATH: SEARCHED, LC_ALL: "C.UTF-8" }

const run = promisify(execFile)

const isOlder = (version: string, oldest: string) => version.localeCompare(oldest, "en", { numeric: true }) < 0

const programs = Effect.tryPromise({
  try: async () => {
    await Promise.all(PROGRAMS.map((name) => run("sh", ["-c", `command -v ${name}`], { env })))
    const owner = await postgresOwner()
    for (const [name, oldest] of Object.entries(OLDEST)) {
      const { stdout } = await run(name, ["--version"], { env, ...owner })
      const version = /[\d.]+/.exec(stdout)?.[0] ?? ""
      if (isOlder(version, oldest)) throw new Error(`${name} ${version} loses writes, ${oldest} or newer does not`)
    }
  },
  catch: (cause) => new Skipped({ reason: `${cause instanceof Error ? cause.message : String(cause)}: ${INSTALLED}` })
})

const NAMES = ["one", "two", "three"]

const PASSWORD = "of-the-torture"

type Part = "etcd" | "patroni" | "postgres"

export const WHOLE: ReadonlyArray<Part> = ["etcd", "patroni", "postgres"]

/** Looks until there is a value, and dies if that takes five minutes. */
const found = <A>(what: string, look: Effect.Effect<A>) =>
  look.pipe(
    Effect.flatMap(Effect.fromNullishOr),
    Effect.delay("50 millis"),
    Effect.eventually,
    Effect.timeoutOrElse({ duration: "5 minutes", orElse: () => Effect.die(new Error(`no ${what} in 5 minutes`)) })
  )

const Streaming = Schema.Array(Schema.Struct({ name: Schema.String }))

const STREAMING = `
  SELECT application_name AS name FROM pg_stat_replication WHERE state = 'streaming'
  UNION ALL SELECT '' WHERE NOT pg_is_in_recovery() AND NOT current_setting('transaction_read_only')::bool`

/** Returns the standbys that stream from a server; undefined unless it responds and takes writes. */
const standbysAt = (url: string) =>
  queryAt(url, STREAMING, [], 500).pipe(
    Effect.map((rows) => Schema.decodeUnknownSync(Streaming)(rows).map(({ name }) => name)),
    Effect.map((names) => names.includes("") ? names : undefined),
    Effect.catchCause(() => Effect.void)
  )

const Members = Schema.Struct({
  members: Schema.Array(Schema.Struct({ name: Schema.String, role: Schema.String }))
})

/** Returns the standby that Patroni would promote in place of a leader. */
const nextOf = ({ name, url }: Machine) =>
  Effect.promise(async () => {
    const { hostname } = new URL(url)
    const response = await fetch(`http://${hostname}:8008/cluster`, { signal: AbortSignal.timeout(1000) })
    const { members } = Schema.decodeUnknownSync(Members)(await response.json())
    const named = (wanted: string) => members.find(({ role }) => role === wanted)?.name
    return named("leader") === name ? named("sync_standby") : undefined
    // On a busy machine the response may also end in the middle.
  }).pipe(Effect.catchCause(() => Effect.void))

/** Makes a function that starts programs as PostgreSQL's user, with their output in a log. */
const launcher = (keeper: Keeper, owner: Owner | undefined) =>
(
  directory: string,
  command: string,
  ...args: ReadonlyArray<string>
) => {
  const log = join(directory, `${command}.log`)
  const options = { ...owner, cwd: directory, env, stdio: "ignore" } as const
  return keeper.spawn("sh", ["-c", `exec "$0" "$@" >> '${log}' 2>&1`, command, ...args], options)
}

const rendered = async (directory: string, name: string, addresses: ReadonlyArray<string>) => {
  const state = join(directory, name)
  await mkdir(state, { recursive: true })
  const [one, two, three] = addresses
  const settings = {
    NAME: name,
    HERE: addresses[NAMES.indexOf(name)],
    ONE: one,
    TWO: two,
    THREE: three,
    NETWORK: "127.0.0.0/8",
    STATE: state,
    ARCHIVE: join(directory, "archive"),
    BIN,
    PASSWORD
  }
  const file = join(state, "machine.env")
  await writeFile(file, Object.entries(settings).map(([key, value]) => `${key}=${value}\n`).join(""))
  await run("sh", [join(DEPLOY, "render.sh"), file, state], { env })
  return state
}

const isOver = (child?: ChildProcess) => child === undefined || hasEnded(child)

/** A machine: an address of the loopback network, with the ports that the files of deploy/ha name. */
const machineOf = Effect.fnUntraced(
  function*(keeper: Keeper, state: string, address: string, launch: ReturnType<typeof launcher>) {
    const running: { etcd?: ChildProcess; patroni?: ChildProcess } = {}
    const postmaster = async () => {
      const text = await readFile(join(state, "data/postmaster.pid"), "utf8").catch(() => "")
      const pid = Number(text.split("\n")[0])
      return pid > 0 ? [pid, ...await childrenOf(pid)] : []
    }
    const pidsOf = async (part: Part) => {
      if (part === "postgres") return postmaster()
      const pid = running[part]?.pid
      return pid === undefined || isOver(running[part]) ? [] : [pid]
    }
    const signalled = (parts: ReadonlyArray<Part>, name: NodeJS.Signals) =>
      Effect.promise(async () => {
        const pids = (await Promise.all(parts.map(pidsOf))).flat()
        pids.forEach((pid) => signal(pid, name))
      })
    // PostgreSQL outlives Patroni. An ended program's number may belong to another program.
    const known = { pids: [0] }
    yield* Effect.promise(async () => {
      const pids = await postmaster()
      keeper.remove(...known.pids)
      known.pids = pids.slice(0, 1)
      keeper.add(...known.pids)
    }).pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)
    yield* Effect.addFinalizer(() => signalled(WHOLE, "SIGKILL"))
    return {
      name: basename(state),
      url: `postgres://postgres:${PASSWORD}@${address}:5432/routes`,
      /** Starts etcd and Patroni unless they run; Patroni starts PostgreSQL. */
      start: Effect.sync(() => {
        if (isOver(running.etcd)) running.etcd = launch(state, "etcd", "--config-file", "etcd.yaml")
        if (isOver(running.patroni)) running.patroni = launch(state, "patroni", "patroni.yaml")
      }),
      signal: signalled
    }
  }
)

export type Machine = Effect.Success<ReturnType<typeof machineOf>>

const NGINX = `
error_log stderr;
pid nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  include nginx.conf;
}`

/** The accounts are so many that two writes of one account, which wait for each other's commit, seldom overlap. */
const ACCOUNTS = 40

/** Starts all of deploy/ha: three machines, two processes of the service, and the proxies before each. */
export const cluster = Effect.fnUntraced(function*(wanted: string, keeper: Keeper) {
  yield* programs
  const owner = yield* Effect.promise(postgresOwner)
  const directory = yield* Effect.acquireRelease(
    Effect.promise(() => dataDirectoryFor(join(wanted, "cluster"), owner)),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 5 }))
  )
  // Each of two runs at a time has its own addresses.
  const network = `127.${process.pid % 250 + 1}.${Math.floor(process.pid / 250) % 250}`
  const addresses = NAMES.map((_, n) => `${network}.${n + 11}`)
  const [first = "", second = ""] = addresses
  const states = yield* Effect.promise(async () => {
    const states = await Promise.all(NAMES.map((name) => rendered(directory, name, addresses)))
    await Promise.all(["wal", "base"].map((name) => mkdir(join(directory, "archive", name), { recursive: true })))
    await writeFile(join(directory, "one/front.conf"), NGINX)
    if (owner !== undefined) await run("chown", ["-R", `${owner.uid}:${owner.gid}`, directory])
    return states
  })
  const [one = ""] = states
  const launch = launcher(keeper, owner)
  const machines = yield* Effect.forEach(states, (state, n) => machineOf(keeper, state, addresses[n] ?? "", launch))
  yield* Effect.forEach(machines, ({ start }) => start)

  const ranked = (isWhole: boolean) =>
    found(
      "whole cluster",
      Effect.gen(function*() {
        for (const leader of machines) {
          const standbys = yield* standbysAt(leader.url)
          if (standbys === undefined) continue
          const next = yield* nextOf(leader)
          const near = machines.find(({ name }) => name === next && standbys.includes(name))
          const far = machines.find((machine) => machine !== leader && machine !== near)
          return near && far && (!isWhole || standbys.includes(far.name)) ? [leader, near, far] as const : undefined
        }
        return undefined
      })
    )
  const whole = ranked(true)
  const [leader] = yield* whole

  yield* Effect.forEach([
    ["haproxy", "-db", "-f", "haproxy.cfg"],
    ["pgbouncer", "pgbouncer.ini"],
    ["nginx", "-p", `${one}/`, "-c", "front.conf", "-g", "daemon off; master_process off;"]
  ], ([program = "", ...args]) =>
    Effect.acquireRelease(
      Effect.sync(() => launch(one, program, ...args)),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    ))

  const role = `postgres://service:${PASSWORD}`
  const direct = addresses.map((address) => `${address}:5432`)
  const replicas = { PORT: "3000", DATABASE_READ_URL: direct.map((host) => `${role}@${host}/routes`).join() }
  yield* serving(keeper, {
    ...replicas,
    HOST: first,
    DATABASE_URL: `${role}@${direct.join()}/routes?target_session_attrs=read-write`
  })
  yield* serving(keeper, {
    ...replicas,
    HOST: second,
    DATABASE_URL: `${role}@${first}:6432/routes`,
    DATABASE_LISTEN_URL: `${role}@${first}:5000/routes`,
    DATABASE_PREPARED_STATEMENTS: "false"
  })
  const haproxy = yield* asking(`http://${first}:8080`)
  const nginx = yield* asking(`http://${first}:8081`)
  const turns = { taken: 0 }
  /** Requests go in turn through HAProxy and nginx, to a process that knows all hosts, and one behind PgBouncer. */
  const ask: Ask = (call) => Effect.suspend(() => (turns.taken++ % 2 === 0 ? haproxy : nginx)(call))
  const clients = { ask, accounts: yield* accounts(leader.url, `http://${first}:8080`, "cluster", ACCOUNTS) }
  // Lists of strangers are never empty.
  const published = routeNamed("Public", { visibility: "public" })
  for (const key of NAMES) yield* ask({ ...creation("routes", key, published), token: clients.accounts[0]?.token })
  yield* warmUp(clients)
  yield* queryAt(leader.url, "ANALYZE")
  return {
    ...clients,
    machines,
    /** Waits until a machine other than `before` takes writes, and returns it. */
    leader: (before?: Machine) =>
      Effect.raceAllFirst(
        machines.filter((machine) => machine !== before).map((machine) =>
          found("leader", Effect.map(standbysAt(machine.url), (standbys) => standbys && machine))
        )
      ),
    /** Waits until there is a synchronous standby, and returns the leader, that one and the third in this order. */
    safe: ranked(false),
    /** Waits until the third machine streams too. */
    whole,
    control: (...args: ReadonlyArray<string>) =>
      Effect.promise(() => run("patronictl", ["-c", join(one, "patroni.yaml"), ...args], { env }))
  }
})

export type Cluster = Effect.Success<ReturnType<typeof cluster>>
