import { Effect } from "effect"
import { Client } from "pg"
import type { ProxyMode } from "../../test/support/TcpProxy.ts"
import type { Fault } from "../fault.ts"
import { countAt, queryAt } from "../postgres.ts"
import { disturbing } from "../segment.ts"
import type { World } from "../world.ts"

const THEIRS = "application_name = 'route-planning-service'"

const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${THEIRS}`

const COUNT = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE ${THEIRS}`

/** The server allows fewer connections than this. */
const WANTED = 80

/** The service connects again as fast as the fault takes connections, so the fault tries this many times. */
const TRIES = 20

const connected = async (url: string) => {
  const client = new Client({ connectionString: url })
  client.on("error", () => undefined)
  await client.connect().catch(() => undefined)
  return client
}

/** Takes the free connections, then cuts the service's connections and takes those, until the service has none. */
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

const free = (taken: ReadonlyArray<Client>) =>
  Effect.promise(() => Promise.all(taken.map((client) => client.end().catch(() => undefined))))

const AT_ONCE = { hold: { short: 0, full: 0 }, rounds: { short: 2, full: 20 }, recoversWithin: 1000 }

const FOR_A_WHILE = { hold: { short: 2000, full: 30_000 }, rounds: { short: 1, full: 3 }, recoversWithin: 1000 }

const during =
  <A>(begin: (world: World) => Effect.Effect<A>, end: (world: World, begun: A) => Effect.Effect<unknown>) =>
  (world: World) => Effect.acquireRelease(begin(world), (begun) => end(world, begun))

const network = (key: string, title: string, mode: ProxyMode, times: Partial<typeof FOR_A_WHILE> = {}) =>
  disturbing({
    ...FOR_A_WHILE,
    ...times,
    key,
    title,
    disturb: during(({ network }) => network.become(mode), ({ network }) => network.become("pass"))
  })

export const disturbances: ReadonlyArray<Fault> = [
  disturbing({
    ...AT_ONCE,
    key: "kill-service",
    title: "kill -9 of the service",
    disturb: during(({ service }) => service.kill, ({ service }) => service.spawn),
    recoversWithin: Infinity
  }),
  disturbing({
    key: "kill-database",
    title: "kill -9 of PostgreSQL",
    disturb: during(({ postgres }) => postgres.kill, ({ postgres }) => postgres.start),
    hold: { short: 0, full: 500 },
    rounds: { short: 1, full: 20 },
    recoversWithin: Infinity
  }),
  disturbing({
    ...FOR_A_WHILE,
    key: "stop-database",
    title: "PostgreSQL hangs (SIGSTOP)",
    disturb: during(({ postgres }) => postgres.stop, ({ postgres }) => postgres.resume),
    hold: { short: 3000, full: 30_000 }
  }),
  network("swallow", "packets to PostgreSQL are swallowed", "hang"),
  network("refuse", "connections to PostgreSQL are refused", "refuse"),
  network("reset", "all connections to PostgreSQL reset", "reset", AT_ONCE),
  disturbing({
    ...FOR_A_WHILE,
    key: "exhaust",
    title: "connections of PostgreSQL exhausted",
    disturb: during(({ postgres }) => Effect.promise(() => takeAll(postgres.url())), (_, taken) => free(taken))
  }),
  disturbing({
    ...AT_ONCE,
    key: "terminate",
    title: "all back ends terminated",
    disturb: ({ postgres }) => queryAt(postgres.url(), TERMINATE)
  })
]

export const delays: ReadonlyArray<Fault> = [
  network("stall", "packets to PostgreSQL arrive late, all at once", "stall"),
  network("delay-200ms", "packets delayed by 200 ms", 200, { hold: { short: 1000, full: 10_000 } }),
  network("delay-2s", "packets delayed by 2 s", 2000, { hold: { short: 2500, full: 10_000 } })
]
