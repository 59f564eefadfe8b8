import { Effect } from "effect"
import { Client } from "pg"
import type { ProxyMode } from "../../test/support/TcpProxy.ts"
import { countAt, queryAt } from "../postgres.ts"
import { type Disturbance, disturbing } from "../segment.ts"

const THEIRS = "application_name = 'route-planning-service'"

const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${THEIRS}`

const COUNT = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE ${THEIRS}`

/** More connections than the server allows. */
const WANTED = 80

/** The service connects again as fast as the fault takes connections: it is repeated. */
const TRIES = 20

const connected = async (url: string) => {
  const client = new Client({ connectionString: url })
  client.on("error", () => undefined)
  await client.connect().catch(() => undefined)
  return client
}

/** Takes the connections that are free, cuts those of the service, and takes those, until it has none. */
const takeAll = async (url: string) => {
  const first = await connected(url)
  const taken = [first]
  for (let tries = 0; tries < TRIES; tries++) {
    taken.push(...await Promise.all(Array.from({ length: WANTED }, () => connected(url))))
    if (countAt((await first.query(COUNT)).rows) === 0) break
    await first.query(TERMINATE)
  }
  return taken
}

const free = (taken: ReadonlyArray<Client>) => Promise.all(taken.map((client) => client.end().catch(() => undefined)))

const AT_ONCE = { hold: { short: 0, full: 0 }, rounds: { short: 2, full: 20 }, recoversWithin: 1000 }

const FOR_A_WHILE = { hold: { short: 2000, full: 30_000 }, rounds: { short: 1, full: 3 }, recoversWithin: 1000 }

const become = (mode: ProxyMode): Disturbance["disturb"] => ({ network }) =>
  Effect.acquireRelease(network.become(mode), () => network.become("pass"))

const DISTURBANCES: ReadonlyArray<Disturbance> = [
  {
    ...AT_ONCE,
    key: "kill-service",
    title: "kill -9 of the service",
    disturb: ({ service }) => Effect.acquireRelease(service.kill, () => service.spawn),
    recoversWithin: Infinity
  },
  {
    key: "kill-database",
    title: "kill -9 of PostgreSQL",
    disturb: ({ postgres }) => Effect.acquireRelease(postgres.kill, () => postgres.start),
    hold: { short: 0, full: 500 },
    rounds: { short: 1, full: 20 },
    recoversWithin: Infinity
  },
  {
    ...FOR_A_WHILE,
    key: "stop-database",
    title: "PostgreSQL hangs (SIGSTOP)",
    disturb: ({ postgres }) => Effect.acquireRelease(postgres.stop, () => postgres.resume),
    hold: { short: 3000, full: 30_000 }
  },
  {
    ...FOR_A_WHILE,
    key: "swallow",
    title: "packets to PostgreSQL are swallowed",
    disturb: become("hang")
  },
  {
    ...FOR_A_WHILE,
    key: "refuse",
    title: "connections to PostgreSQL are refused",
    disturb: become("refuse")
  },
  {
    ...AT_ONCE,
    key: "reset",
    title: "all connections to PostgreSQL reset",
    disturb: become("reset")
  },
  {
    ...FOR_A_WHILE,
    key: "exhaust",
    title: "connections of PostgreSQL exhausted",
    disturb: ({ postgres }) =>
      Effect.acquireRelease(
        Effect.promise(() => takeAll(postgres.url())),
        (taken) => Effect.promise(() => free(taken))
      )
  },
  {
    ...AT_ONCE,
    key: "terminate",
    title: "all back ends terminated",
    disturb: ({ postgres }) => queryAt(postgres.url(), TERMINATE)
  }
]

const DELAYS: ReadonlyArray<Disturbance> = [
  {
    ...FOR_A_WHILE,
    key: "stall",
    title: "packets to PostgreSQL arrive late, all at once",
    disturb: become("stall")
  },
  {
    ...FOR_A_WHILE,
    key: "delay-200ms",
    title: "packets delayed by 200 ms",
    disturb: become(200),
    hold: { short: 1000, full: 10_000 }
  },
  {
    ...FOR_A_WHILE,
    key: "delay-2s",
    title: "packets delayed by 2 s",
    disturb: become(2000),
    hold: { short: 2500, full: 10_000 }
  }
]

export const disturbances = DISTURBANCES.map(disturbing)

export const delays = DELAYS.map(disturbing)
