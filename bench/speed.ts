import { NodeRuntime } from "@effect/platform-node"
import { Console, Duration, Effect } from "effect"
import { availableParallelism, loadavg } from "node:os"
import { argument, readyAfter, residentMemory, running, service, SETTINGS } from "./processes.ts"
import { analyzed, database, seed } from "./seed.ts"
import { type Asked, asked, type Compared, comparedRequests, type Figures, seeded } from "./speedRequests.ts"
import { median } from "./statistics.ts"

// `npm run bench:speed -- --seconds 5 --turns 3 --only token --profile <folder>`: a profile of our process is written into
// the folder, in the format of Chromium's developer tools.
const SECONDS = Number(argument("seconds", "4"))
const TURNS = Number(argument("turns", "3"))
const ONLY = argument("only", "")
const PROFILE = argument("profile", "")

interface Server extends Asked {
  readonly name: "ours" | "full" | "bare"
}

/** Whether the peer has the request: the bare one knows no account. */
const isAskedOf = ({ name }: Server, { headers, method }: Compared) =>
  name !== "bare" || headers === undefined || method === "POST"

const askedOf = (servers: ReadonlyArray<Server>, request: Compared) =>
  servers.filter((server) => isAskedOf(server, request))

const cell = (ours: ReadonlyArray<Figures>, peer: ReadonlyArray<Figures>, goal: number | undefined) => {
  const ratio = median(ours.map(({ rate }, turn) => rate / (peer[turn]?.rate ?? rate)))
  const cost = median(peer.map((each) => each.cost)) / median(ours.map((each) => each.cost))
  const figures = `${ratio.toFixed(2)} (${cost.toFixed(2)})`
  if (goal === undefined) return figures
  return ratio >= goal && cost >= goal ? `${figures}, reached` : `${figures}, of ${goal}`
}

const costOf = (figures: ReadonlyArray<Figures>) => `${median(figures.map(({ cost }) => cost)).toFixed(0)} us`

/**
 * Before any row, all that reads, and each request once more before its row: no row is the start of a process, whose threads
 * compile for seconds what a request needs.
 */
const WARM_UP_SECONDS = { before: 2, row: 8 }

const warmUp = (servers: ReadonlyArray<Server>, request: Compared, seconds: number) =>
  Effect.forEach(askedOf(servers, request), (server) => asked(server, request, seconds), { discard: true })

/** One request, to the servers alternately. */
const rowOf = Effect.fnUntraced(function*(servers: ReadonlyArray<Server>, request: Compared) {
  yield* warmUp(servers, request, WARM_UP_SECONDS.row)
  const turns = yield* Effect.replicateEffect(
    Effect.forEach(
      askedOf(servers, request),
      (server) => Effect.map(asked(server, request, SECONDS), (figures) => [server.name, figures] as const)
    ),
    TURNS
  )
  const of = (name: Server["name"]) =>
    turns.flatMap((turn) => turn.filter(([server]) => server === name).map(([, figures]) => figures))
  const [ours, full, bare] = [of("ours"), of("full"), of("bare")]
  const cells = [
    request.name,
    `${median(ours.map(({ rate }) => rate)).toFixed(0)}/s`,
    costOf(ours),
    costOf(full),
    bare.length === 0 ? "" : costOf(bare),
    cell(ours, full, request.full),
    bare.length === 0 ? "" : cell(ours, bare, request.bare)
  ]
  yield* Console.log(`| ${cells.join(" | ")} |`)
})

const peer = Effect.fnUntraced(function*(name: "full" | "bare", url: string) {
  const server = yield* running(`bench/peers/${name}.ts`, { ...SETTINGS, DATABASE_URL: url })
  yield* readyAfter(`${server.origin}/health/live`, server.started)
  return { name, origin: server.origin, pid: server.pid }
})

/** The memory of the idle processes is read again after this time. */
const SETTLED = Duration.seconds(15)

const memoryOf = (servers: ReadonlyArray<Server>) =>
  Effect.map(
    Effect.forEach(
      servers,
      ({ name, pid }) => Effect.map(residentMemory(pid), (mib) => `${name} ${mib.toFixed(0)} MiB`)
    ),
    (each) => each.join(", ")
  )

const comparison = Effect.gen(function*() {
  const url = yield* database
  const flags = PROFILE === "" ? [] : ["--cpu-prof", `--cpu-prof-dir=${PROFILE}`]
  const { origin, pid, took } = yield* service(url, { LOG_LEVEL: "info" }, flags)
  const ours: Server = { name: "ours", origin, pid }
  yield* seed(url)
  const servers: ReadonlyArray<Server> = [ours, yield* peer("full", url), yield* peer("bare", url)]
  yield* Effect.sleep("3 seconds")
  const atRest = yield* residentMemory(ours.pid)
  const filled = yield* seeded(ours.origin)
  yield* analyzed(url)
  const requests = comparedRequests(filled)
  yield* Console.log(
    `${availableParallelism()} cores shared with PostgreSQL and the load, ${loadavg()[0]?.toFixed(1)} wanted before\n\n`
      + "| request | ours | processor time, ours | full peer | bare peer | ours / full (by processor time) | ours / bare |\n"
      + "|---|---|---|---|---|---|---|"
  )
  const rows = requests.filter(({ name }) => name.includes(ONLY))
  const reads = rows.filter(({ body }) => body === undefined)
  yield* Effect.forEach(reads, (request) => warmUp(servers, request, WARM_UP_SECONDS.before), { discard: true })
  yield* Effect.forEach(rows, (request) => rowOf(servers, request), { discard: true })
  const atEnd = yield* memoryOf(servers)
  yield* Effect.sleep(SETTLED)
  yield* Console.log(
    `\nready on an empty database after ${(took / 1000).toFixed(1)} s; memory at rest: ${atRest.toFixed(0)} MiB; `
      + `at the end of the load: ${atEnd}; ${Duration.format(SETTLED)} later: ${yield* memoryOf(servers)}`
  )
}).pipe(Effect.scoped)

NodeRuntime.runMain(comparison)
