import { NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { createServer } from "node:http"
import { listening } from "../test/support/Listening.ts"
import { callsOf, type Row, ROWS } from "./crowdRows.ts"
import { type Figures, type LoadFailed, measured, warmUp } from "./measure.ts"
import { pocketbase } from "./peers/pocketbase.ts"
import { peopled, type Person } from "./people.ts"
import { argument, residentMemory, running, type Server, SETTINGS } from "./processes.ts"
import { openTable } from "./report.ts"
import { analyzed, database, service } from "./seed.ts"
import { median } from "./statistics.ts"

// `npm run bench:crowd -- --only token --seconds 2 --turns 10 --write` sends the requests of 100 accounts at 400 addresses
// to each server in turn. `--write` puts the tables into `docs/performance.md`: with `--only` they have only those rows.
const ONLY = argument("only", "")
const SECONDS = Number(argument("seconds", "1"))
const TURNS = Number(argument("turns", "3"))
const CLIENTS = 16

interface Contestant extends Server {
  readonly name: string
  readonly people: ReadonlyArray<Person>
  /** Returns undefined if the server has no such endpoint. */
  readonly asksOf: (row: Row) => Row["asks"] | undefined
}

/** Loads each server that has the row: it warms all of them first, then loads them in turn. */
const contest = Effect.fnUntraced(function*(servers: ReadonlyArray<Contestant>, row: Row) {
  const loads = servers.flatMap((server) => {
    const asks = server.asksOf(row)
    if (asks === undefined) return []
    const calls = callsOf(server.origin, server.people, asks)
    return { name: server.name, load: measured(server, calls, row.clients ?? CLIENTS, SECONDS) }
  })
  yield* Effect.forEach(loads, ({ load }) => warmUp(load), { discard: true })
  const turns = yield* Effect.replicateEffect(Effect.forEach(loads, ({ load }) => load), TURNS)
  return new Map(loads.map(({ name }, n) => [name, turns.flatMap((turn) => turn[n] ?? [])]))
})

const medianOf = (figures: ReadonlyArray<Figures>, figure: keyof Figures) => median(figures.map((each) => each[figure]))

/** Returns the median of the pairs: the second server has this many times the figure of the first. */
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
  const rate = 1 / ratio(ours, peer, "rate")
  const costs = `${cost.toFixed(2)} + ${Number.isFinite(database) ? database.toFixed(2) : "-"}`
  return `${costs} (${rate.toFixed(2)}), ${medianOf(peer, "p99").toFixed(0)} ms${goalOf(cost, goal)}`
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
  const own = (settings: Readonly<Record<string, string>> = {}) =>
    service(url, { TRUSTED_PROXIES: "127.0.0.0/8", ...settings })
  const unlimited = yield* own()
  const limited = yield* own({ RATE_LIMITS_ENABLED: "true" })
  yield* Effect.sleep("3 seconds")
  const atRest = yield* residentMemory(unlimited.pid)
  const people = yield* peopled(url, unlimited.origin)
  const variant = (name: string, server: Server): Contestant => ({
    ...server,
    name,
    people,
    asksOf: ({ asks }) => asks
  })
  const peer = Effect.fnUntraced(function*(name: "full" | "bare") {
    const server = yield* running(`bench/peers/${name}.ts`, "/health/live", { ...SETTINGS, DATABASE_URL: url })
    const asksOf = ({ asks, peers = ["full"] }: Row) => peers.includes(name) ? asks : undefined
    return { ...variant(name, { ...server, postgres: unlimited.postgres }), asksOf }
  })
  const peers = [yield* peer("full"), yield* peer("bare"), ...yield* pocketbase]
  yield* analyzed(url)

  const rows = ROWS.filter(({ name }) => name.includes(ONLY))
  const table = yield* openTable("crowd", ["request", "limits", "ours", "full peer", "bare peer", "PocketBase"])
  const compared = Effect.fnUntraced(function*(row: Row) {
    const isLimited = row.isLimited === true
    const figures = yield* contest([variant("ours", isLimited ? limited : unlimited), ...peers], row)
    const ours = figures.get("ours") ?? []
    return [
      row.name,
      isLimited ? "on" : "off",
      oursOf(ours),
      peerOf(ours, figures.get("full"), row.goals?.[0]),
      peerOf(ours, figures.get("bare")),
      pocketbaseOf(ours, figures.get("PocketBase"), row.goals?.[1])
    ]
  })
  for (const row of rows) yield* table.row(yield* cellsOf(row, compared))
  const memory = yield* Effect.forEach(
    [variant("ours", unlimited), ...peers],
    ({ name, pid }) => Effect.map(residentMemory(pid), (mib) => `${name} ${mib.toFixed(0)} MiB`)
  )
  const ready = `Ready on an empty database after ${(unlimited.took / 1000).toFixed(1)} s`
  yield* table.note(`${ready}; memory at rest: ${atRest.toFixed(0)} MiB; at the end: ${memory.join(", ")}.`)

  const tracedRows = rows.filter(({ name }) => TRACED.has(name))
  if (tracedRows.length === 0) return
  const sink = createServer((request, response) => void request.resume().on("end", () => response.end("{}")))
  const traced = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${yield* listening(sink)}`,
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio"
  }
  const variants = [
    variant("untraced", unlimited),
    variant("one in ten", yield* own({ ...traced, OTEL_TRACES_SAMPLER_ARG: "0.1" })),
    variant("each", yield* own({ ...traced, OTEL_TRACES_SAMPLER_ARG: "1" }))
  ]
  const tracedTable = yield* openTable("traced", ["request", "untraced", "one in ten traced", "each traced"])
  const tracedCells = Effect.fnUntraced(function*(row: Row) {
    const figures = yield* contest(variants, row)
    const untraced = figures.get("untraced") ?? []
    const cell = (name: string, goal: number) => {
      const cost = ratio(untraced, figures.get(name) ?? [], "cost")
      return `${cost.toFixed(2)}, ${cost <= goal ? "reached" : "**of**"} ${goal}`
    }
    const goal = row.name.startsWith("store") ? 1.3 : 1.35
    return [row.name, oursOf(untraced), cell("one in ten", 1.08), cell("each", goal)]
  })
  for (const row of tracedRows) yield* tracedTable.row(yield* cellsOf(row, tracedCells))
}).pipe(Effect.scoped)

NodeRuntime.runMain(crowd)
