import { Effect } from "effect"
import { Client } from "pg"
import type { Fault } from "../fault.ts"
import { countAt } from "../postgres.ts"
import { disturbing, RECOVERS_WITHIN } from "../segment.ts"
import type { World } from "../world.ts"

const THEIRS = "application_name = 'route-planning-service'"

const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${THEIRS}`

const COUNT = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE ${THEIRS}`

const terminate = ({ postgres }: World) => Effect.asVoid(postgres.query(TERMINATE))

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
const takeAll = ({ postgres }: World, taken: Array<Client>) =>
  Effect.promise(async () => {
    const first = await connected(postgres.url())
    taken.push(first)
    for (let tries = 0; tries < TRIES; tries++) {
      taken.push(...await Promise.all(Array.from({ length: WANTED }, () => connected(postgres.url()))))
      if (countAt((await first.query(COUNT)).rows) === 0) return
      await first.query(TERMINATE)
    }
  })

const free = (taken: Array<Client>) =>
  Effect.promise(() => Promise.all(taken.splice(0).map((client) => client.end().catch(() => undefined))))

export const exhausted: Fault = {
  key: "exhaust",
  title: "connections of PostgreSQL exhausted",
  isInShortForm: true,
  run: (run) =>
    Effect.suspend(() => {
      const taken: Array<Client> = []
      return disturbing({
        inject: (world) => takeAll(world, taken),
        heal: () => Effect.asVoid(free(taken)),
        hold: { short: 2000, full: 30_000 },
        rounds: { short: 1, full: 3 },
        recoversWithin: RECOVERS_WITHIN
      })(run)
    })
}

export const terminated: Fault = {
  key: "terminate",
  title: "all back ends terminated",
  isInShortForm: true,
  run: disturbing({
    inject: terminate,
    heal: () => Effect.void,
    hold: { short: 0, full: 0 },
    rounds: { short: 2, full: 20 },
    recoversWithin: RECOVERS_WITHIN
  })
}
