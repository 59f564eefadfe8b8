import { Effect, Schema, type Scope } from "effect"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { globSync } from "node:fs"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import { dataDirectoryFor, postgresOwner } from "../development/PostgresBinaries.ts"
import { PATH } from "../development/ProductionProcess.ts"
import { type Account, accounts } from "./accounts.ts"
import { type Asking, asking } from "./ask.ts"
import { hasEnded, type Keeper } from "./keeper.ts"
import { childrenOf, queryAt, signal } from "./postgres.ts"
import { service } from "./service.ts"
import { Skipped } from "./skipped.ts"
import { warmUp } from "./world.ts"

const DEPLOY = join(import.meta.dirname, "../deploy/ha")

const [POSTGRES = ""] = globSync("/usr/lib/postgresql/*/bin/postgres")

const BIN = dirname(POSTGRES)

const VENV = "/opt/patroni"

const SEARCHED = `${VENV}/bin:${BIN}:/usr/sbin:${PATH}`

const PROGRAMS = ["postgres", "etcd", "patroni", "patronictl", "haproxy", "pgbouncer", "nginx", "envsubst"]

/** The oldest of each that loses no write: `deploy/ha/README.md` says what older ones do. */
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
  catch: (cause) => new Skipped(`${cause instanceof Error ? cause.message : String(cause)}: ${INSTALLED}`)
})

const NAMES = ["one", "two", "three"]

const PASSWORD = "of-the-torture"

type Part = "etcd" | "patroni" | "postgres"

export const WHOLE: ReadonlyArray<Part> = ["etcd", "patroni", "postgres"]

/** A machine is an address of the loopback network, with the ports that the files of deploy/ha name. */
export interface Machine {
  readonly name: string
  readonly url: string
  /** Starts etcd and Patroni where they do not run; Patroni starts PostgreSQL. */
  readonly start: Effect.Effect<void>
  readonly signal: (parts: ReadonlyArray<Part>, name: NodeJS.Signals) => Effect.Effect<void>
}

export interface Cluster {
  readonly machines: ReadonlyArray<Machine>
  /** The only one that takes writes; waits for it, and for another one than `before`. */
  readonly leader: (before?: Machine) => Effect.Effect<Machine>
  /** Waits until there is a synchronous standby, and returns the leader, that one and the third in this order. */
  readonly safe: Effect.Effect<readonly [Machine, Machine, Machine]>
  /** Waits until the third streams too. */
  readonly whole: Effect.Effect<readonly [Machine, Machine, Machine]>
  readonly control: (...args: ReadonlyArray<string>) => Effect.Effect<void>
  /** Requests in turn through HAProxy and nginx, to a process that knows all hosts, and one behind PgBouncer. */
  readonly asking: Asking
  readonly accounts: ReadonlyArray<Account>
}

const POLL = "50 millis"

const waited = <A>(found: Effect.Effect<A | undefined>): Effect.Effect<A> =>
  Effect.flatMap(found, (value) =>
    value === undefined
      ? Effect.andThen(Effect.sleep(POLL), Effect.suspend(() => waited(found)))
      : Effect.succeed(value))

const within = <A>(what: string, effect: Effect.Effect<A>) =>
  Effect.timeoutOrElse(effect, {
    duration: "5 minutes",
    orElse: () => Effect.die(new Error(`no ${what} in 5 minutes`))
  })

const Streaming = Schema.Array(Schema.Struct({ name: Schema.String }))

/** The standbys that stream from a server that takes writes; undefined for another, and for one that does not respond. */
const standbysAt = async (url: string) => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 500, query_timeout: 500 })
  client.on("error", () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query(
      `SELECT application_name AS name FROM pg_stat_replication WHERE state = 'streaming'
       UNION ALL SELECT '' WHERE NOT pg_is_in_recovery() AND NOT current_setting('transaction_read_only')::bool`
    )
    const names = Schema.decodeUnknownSync(Streaming)(rows).map(({ name }) => name)
    return names.includes("") ? names : undefined
  } catch {
    return undefined
  } finally {
    void client.end().catch(() => undefined)
  }
}

const Members = Schema.Struct({
  members: Schema.Array(Schema.Struct({ name: Schema.String, role: Schema.String }))
})

/** The standby that Patroni would promote in place of a leader. */
const nextOf = async ({ name, url }: Machine) => {
  const { hostname } = new URL(url)
  // The response of a busy machine may also end in the middle.
  const cluster: unknown = await fetch(`http://${hostname}:8008/cluster`, { signal: AbortSignal.timeout(1000) })
    .then((response) => response.ok ? response.json() : undefined)
    .catch(() => undefined)
  if (cluster === undefined) return undefined
  const { members } = Schema.decodeUnknownSync(Members)(cluster)
  const named = (wanted: string) => members.find(({ role }) => role === wanted)?.name
  return named("leader") === name ? named("sync_standby") : undefined
}

/** Programs that write to a log, run as PostgreSQL's user. */
const launcher = Effect.fnUntraced(function*(keeper: Keeper) {
  const owner = yield* Effect.promise(postgresOwner)
  const children = new Set<ChildProcess>()
  yield* Effect.addFinalizer(() => Effect.sync(() => children.forEach((child) => child.kill("SIGKILL"))))
  return (directory: string, command: string, ...args: ReadonlyArray<string>) => {
    const log = join(directory, `${command}.log`)
    const child = spawn("sh", ["-c", `exec "$0" "$@" >> '${log}' 2>&1`, command, ...args], {
      ...owner,
      cwd: directory,
      env,
      stdio: "ignore"
    })
    children.add(child)
    const pid = child.pid ?? 0
    keeper.add(pid)
    child.once("exit", () => {
      children.delete(child)
      keeper.remove(pid)
    })
    return child
  }
})

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

const machineOf = Effect.fnUntraced(
  function*(keeper: Keeper, state: string, address: string, launch: Effect.Success<ReturnType<typeof launcher>>) {
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
    const machine: Machine = {
      name: state.split("/").at(-1) ?? "",
      url: `postgres://postgres:${PASSWORD}@${address}:5432/routes`,
      start: Effect.sync(() => {
        if (isOver(running.etcd)) running.etcd = launch(state, "etcd", "--config-file", "etcd.yaml")
        if (isOver(running.patroni)) running.patroni = launch(state, "patroni", "patroni.yaml")
      }),
      signal: (parts, name) =>
        Effect.promise(async () => {
          const pids = (await Promise.all(parts.map(pidsOf))).flat()
          pids.forEach((pid) => signal(pid, name))
        })
    }
    // Patroni's PostgreSQL outlives it. Another program may have the number of one that has ended.
    const known = { pids: [0] }
    yield* Effect.promise(async () => {
      const pids = await postmaster()
      keeper.remove(...known.pids)
      known.pids = pids.slice(0, 1)
      keeper.add(...known.pids)
    }).pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)
    yield* Effect.addFinalizer(() => machine.signal(WHOLE, "SIGKILL"))
    return machine
  }
)

const NGINX = `
error_log stderr;
pid nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path client; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  include nginx.conf;
}`

/** Enough that writes of one account, which wait for each other's commit, are seldom under way together. */
const ACCOUNTS = 40

/** Lists of strangers have something to show. */
const published = ({ ask }: Asking, token: string | undefined) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ name: "Public", visibility: "public", waypoints: [{ coord: [9.5, 47.1] }] })
    await Promise.all([1, 2, 3].map(() => ask({ method: "POST", path: "/api/v1/routes", token, body })))
  })

/** All of deploy/ha on this machine: three machines, two processes of the service, and what stands before each. */
export const cluster: (directory: string, keeper: Keeper) => Effect.Effect<Cluster, Skipped, Scope.Scope> = Effect
  .fnUntraced(function*(wanted, keeper) {
    yield* programs
    const owner = yield* Effect.promise(postgresOwner)
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => dataDirectoryFor(join(wanted, "cluster"), owner)),
      (path) => Effect.promise(() => rm(path, { recursive: true, force: true, maxRetries: 5 }))
    )
    // Two runs at a time have other addresses.
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
    const launch = yield* launcher(keeper)
    const machines = yield* Effect.forEach(states, (state, n) => machineOf(keeper, state, addresses[n] ?? "", launch))
    yield* Effect.forEach(machines, ({ start }) => start)

    const leading = (before?: Machine) =>
      Effect.raceAllFirst(
        machines.filter((machine) => machine !== before).map((machine) =>
          waited(Effect.promise(async () => await standbysAt(machine.url) && machine))
        )
      )
    const ranked = (isWhole: boolean) =>
      within(
        "whole cluster",
        waited(Effect.promise(async () => {
          for (const leader of machines) {
            const standbys = await standbysAt(leader.url)
            if (standbys === undefined) continue
            const next = await nextOf(leader)
            const near = machines.find(({ name }) => name === next && standbys.includes(name))
            const far = machines.find((machine) => machine !== leader && machine !== near)
            return near && far && (!isWhole || standbys.includes(far.name)) ? [leader, near, far] as const : undefined
          }
          return undefined
        }))
      )
    const whole = ranked(true)
    const [leader] = yield* whole

    launch(states[0] ?? "", "haproxy", "-db", "-f", "haproxy.cfg")
    launch(states[0] ?? "", "pgbouncer", "pgbouncer.ini")
    launch(states[0] ?? "", "nginx", "-p", `${states[0]}/`, "-c", "front.conf", "-g", "daemon off; master_process off;")

    const role = `postgres://service:${PASSWORD}`
    const direct = addresses.map((address) => `${address}:5432`)
    const replicas = { DATABASE_READ_URL: direct.map((host) => `${role}@${host}/routes`).join() }
    const processes = yield* Effect.forEach([
      { HOST: first, DATABASE_URL: `${role}@${direct.join()}/routes?target_session_attrs=read-write` },
      {
        HOST: second,
        DATABASE_URL: `${role}@${first}:6432/routes`,
        DATABASE_LISTEN_URL: `${role}@${first}:5000/routes`,
        DATABASE_PREPARED_STATEMENTS: "false"
      }
    ], (settings) => service(keeper, { PORT: "3000", ...replicas, ...settings }))
    for (const one of processes) {
      yield* one.spawn
      if (!(yield* one.ready)) return yield* Effect.die(new Error(`The service is not ready:\n${one.tail()}`))
    }
    const fronts = [asking(`http://${first}:8080`), asking(`http://${first}:8081`)]
    yield* Effect.addFinalizer(() => Effect.sync(() => fronts.forEach(({ close }) => close())))
    const turns = { taken: 0 }
    const client: Asking = {
      ask: (call) => (fronts[turns.taken++ % fronts.length] ?? asking("")).ask(call),
      close: () => undefined
    }
    const people = yield* accounts(leader.url, client, "cluster", ACCOUNTS)
    yield* published(client, people[0]?.token)
    yield* warmUp({ accounts: people, asking: client })
    yield* queryAt(leader.url, "ANALYZE")
    return {
      machines,
      leader: (before) => within("leader", leading(before)),
      safe: ranked(false),
      whole,
      control: (...args) =>
        Effect.promise(() => run("patronictl", ["-c", join(states[0] ?? "", "patroni.yaml"), ...args], { env })),
      asking: client,
      accounts: people
    }
  })
