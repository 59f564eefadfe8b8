import { NodeRuntime } from "@effect/platform-node"
import { Duration, Effect } from "effect"
import { createServer } from "node:http"
import { listening } from "../test/support/Listening.ts"
import { callsOf, type Row, ROWS } from "./crowdRows.ts"
import type { Call } from "./load.ts"
import { type Figures, type LoadFailed, measured, postmaster, type Server, warmUp } from "./measure.ts"
import { pocketbase } from "./peers/pocketbase.ts"
import { peopled } from "./people.ts"
import { argument, readyAfter, residentMemory, running, service, SETTINGS } from "./processes.ts"
import { openTable } from "./report.ts"
import { analyzed, database } from "./seed.ts"
import { median } from "./statistics.ts"

// `npm run bench:crowd -- --only token --seconds 2 --turns 10 --write`: 100 accounts at 400 addresses, whose requests go to each
// server in turn. `--write` puts the tables into `docs/performance.md`, row by row.
const ONLY = argument("only", "")
const SECONDS = Number(argument("seconds", "1"))
const TURNS = Number(argument("turns", "3"))
const CLIENTS = 16
const TRUSTED_PROXIES = { TRUSTED_PROXIES: "127.0.0.0/8" }

interface Contestant extends Server {
  readonly name: string
  /** None where the server cannot do it. */
  readonly callsOf: (row: Row) => ReadonlyArray<Call>
}

/** The loads of a row on each server: warmed first, then all in turn. */
const contest = Effect.fnUntraced(function*(postgres: number, servers: ReadonlyArray<Contestant>, row: Row) {
  const loads = servers.map((server) =>
    measured(server, postgres, server.callsOf(row), row.clients ?? CLIENTS, SECONDS)
  )
  yield* Effect.forEach(loads, (load) => warmUp(load), { discard: true })
  const turns = yield* Effect.replicateEffect(Effect.all(loads), TURNS)
  return new Map(servers.map(({ name }, n) => [name, turns.flatMap((turn) => turn[n] ?? [])]))
})

const medianOf = (figures: ReadonlyArray<Figures>, figure: keyof Figures) => median(figures.map((each) => each[figure]))

/** The median of the pairs: how many times as much the second has of a figure. */
const ratio = (ours: ReadonlyArray<Figures>, other: ReadonlyArray<Figures>, figure: keyof Figures) =>
  median(ours.map((each, turn) => (other[turn]?.[figure] ?? 0) / each[figure]))

const goalOf = (reached: number, goal: number | undefined) =>
  goal === undefined ? "" : `, ${reached >= goal ? "reached" : "**of**"} ${goal}`

const oursOf = (figures: ReadonlyArray<Figures>) => {
  const of = (figure: keyof Figures) => medianOf(figures, figure).toFixed(0)
  return `${of("rate")}/s, ${of("p99")} ms, ${of("cost")} + ${of("database")} us`
}

const peerOf = (ours: ReadonlyArray<Figures>, peer: ReadonlyArray<Figures> | undefined, goal?: number) => {
  if (peer === undefined) return ""
  const cost = ratio(ours, peer, "cost")
  const database = ratio(ours, peer, "database")
  const shown = `${cost.toFixed(2)} + ${Number.isFinite(database) ? database.toFixed(2) : "-"}`
  return `${shown} (${(1 / ratio(ours, peer, "rate")).toFixed(2)}), ${medianOf(peer, "p99").toFixed(0)} ms${
    goalOf(cost, goal)
  }`
}

const pocketbaseOf = (ours: ReadonlyArray<Figures>, peer: ReadonlyArray<Figures> | undefined, goal?: number) => {
  if (peer === undefined) return ""
  const rate = 1 / ratio(ours, peer, "rate")
  return `${rate.toFixed(2)}, ${medianOf(peer, "p99").toFixed(0)} ms${goalOf(rate, goal)}`
}

/** A row that failed says why, and the others go on. */
const cellsOf = (row: Row, cells: (row: Row) => Effect.Effect<ReadonlyArray<string>, LoadFailed>) =>
  Effect.catchTag(cells(row), "LoadFailed", ({ message }) => Effect.succeed([row.name, message.replaceAll("|", "/")]))

const TRACED = new Set([
  "route by token, 50 positions",
  "own route by session, 50 positions",
  "own route by token, 50 positions",
  "store a route of 100 positions"
])

const crowd = Effect.gen(function*() {
  const url = yield* database
  const postgres = yield* postmaster(url)
  const own = (settings: Readonly<Record<string, string>>) => service(url, { ...TRUSTED_PROXIES, ...settings })
  const ours = yield* own({})
  const limited = yield* own({ RATE_LIMITS_ENABLED: "true" })
  yield* Effect.sleep("3 seconds")
  const atRest = yield* residentMemory(ours.pid)
  const people = yield* peopled(url, ours.origin)
  const contestant = (
    name: string,
    { origin, pid }: Server,
    asksOf: (row: Row) => Row["asks"] | undefined,
    asking = people
  ): Contestant => ({
    name,
    origin,
    pid,
    callsOf: (row) => {
      const asks = asksOf(row)
      return asks === undefined ? [] : callsOf(origin, asking, asks)
    }
  })
  const peer = Effect.fnUntraced(function*(name: "full" | "bare") {
    const server = yield* running(`bench/peers/${name}.ts`, { ...SETTINGS, DATABASE_URL: url })
    yield* readyAfter(`${server.origin}/health/live`, server.started)
    return contestant(name, server, ({ asks, peers }) => peers.includes(name) ? asks : undefined)
  })
  const peers = [yield* peer("full"), yield* peer("bare")]
  for (const { people, server } of yield* pocketbase) {
    peers.push(contestant("pocketbase", server, (row) => row.pocketbase, people))
  }
  yield* analyzed(url)

  const compared = Effect.fnUntraced(function*(row: Row) {
    const first = contestant("ours", row.isLimited === true ? limited : ours, ({ asks }) => asks)
    const servers = [first, ...peers.filter(({ callsOf }) => callsOf(row).length > 0)]
    const figures = yield* contest(postgres, servers, row)
    const own = figures.get("ours") ?? []
    return [
      row.name,
      row.isLimited === true ? "on" : "off",
      oursOf(own),
      peerOf(own, figures.get("full"), row.goals?.[0]),
      peerOf(own, figures.get("bare")),
      pocketbaseOf(own, figures.get("pocketbase"), row.goals?.[1])
    ]
  })
  const rows = ROWS.filter(({ name }) => name.includes(ONLY))
  const head = ["request", "limits", "ours", "full peer", "bare peer", "PocketBase"]
  const table = yield* openTable("crowd", head)
  for (const row of rows) yield* table.row(yield* cellsOf(row, compared))
  const memory = yield* Effect.forEach(
    [contestant("ours", ours, () => undefined), ...peers],
    ({ name, pid }) => Effect.map(residentMemory(pid), (mib) => `${name} ${mib.toFixed(0)} MiB`)
  )
  yield* table.note(
    `Ready after ${Duration.format(Duration.millis(Math.round(ours.took)))}; memory at rest: ${
      atRest.toFixed(0)
    } MiB; at the end: ${memory.join(", ")}.`
  )

  const sink = createServer((request, response) => void request.resume().on("end", () => response.end("{}")))
  const collector = `http://127.0.0.1:${yield* listening(sink)}`
  const traced = (share: string) =>
    own({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector,
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: share
    })
  const variants = [
    contestant("untraced", ours, ({ asks }) => asks),
    contestant("one in ten", yield* traced("0.1"), ({ asks }) => asks),
    contestant("each", yield* traced("1"), ({ asks }) => asks)
  ]
  const tracedCells = Effect.fnUntraced(function*(row: Row) {
    const figures = yield* contest(postgres, variants, row)
    const untraced = figures.get("untraced") ?? []
    const cell = (name: string, goal: number) => {
      const cost = ratio(untraced, figures.get(name) ?? [], "cost")
      return `${cost.toFixed(2)}${cost > goal ? `, **of** ${goal}` : ""}`
    }
    const isWrite = row.name.startsWith("store")
    return [row.name, oursOf(untraced), cell("one in ten", 1.08), cell("each", isWrite ? 1.3 : 1.35)]
  })
  const tracedTable = yield* openTable("traced", ["request", "untraced", "one in ten traced", "each traced"])
  for (const row of rows.filter(({ name }) => TRACED.has(name))) {
    yield* tracedTable.row(yield* cellsOf(row, tracedCells))
  }
}).pipe(Effect.scoped)

NodeRuntime.runMain(crowd)
