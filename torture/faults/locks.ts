import { Effect } from "effect"
import { Client } from "pg"
import type { Fault } from "../fault.ts"
import type { Recorder } from "../recorder.ts"
import { disturbing } from "../segment.ts"
import { READ_FROM, visitor } from "../visitor.ts"
import type { World } from "../world.ts"

const TABLES = [
  "users",
  "sessions",
  "personal_access_tokens",
  "routes",
  "collections",
  "collection_routes",
  "idempotency_keys",
  "route_usage",
  "collection_usage",
  "audit_events",
  "outbox",
  "email_tokens",
  "identities"
]

/** Milliseconds; a request that needs no locked table is quicker. */
const NOTICED = 1000

const tableOf = (round: number) => TABLES[round % TABLES.length] ?? "routes"

/** A visitor who needs two tables reads on while others are locked. */
const undisturbed = (world: World, recorder: Recorder, locked: { table: string | undefined }) =>
  visitor(world, async (call) => {
    const { table } = locked
    const { began, ended, status } = await call()
    const isDisturbed = status !== 200 || ended - began > NOTICED
    if (isDisturbed && table !== undefined && locked.table === table && !READ_FROM.has(table)) {
      recorder.report(`a public route was ${status} or slow while ${table} was locked`)
    }
  })

const lock = Effect.fnUntraced(function*({ postgres }: World, table: string) {
  const client = new Client({ connectionString: postgres.url() })
  client.on("error", () => undefined)
  yield* Effect.promise(async () => {
    await client.connect()
    await client.query("BEGIN")
    await client.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  })
  return client
})

export const locked: Fault = {
  key: "locks",
  title: "a long lock on each table",
  isInShortForm: true,
  run: (run) =>
    Effect.suspend(() => {
      const state: { table: string | undefined; client: Client | undefined } = { table: undefined, client: undefined }
      return disturbing({
        beside: (world, recorder) => undisturbed(world, recorder, state),
        inject: (world, round) =>
          Effect.map(lock(world, tableOf(round)), (client) => {
            state.client = client
            state.table = tableOf(round)
          }),
        heal: () =>
          Effect.promise(async () => {
            state.table = undefined
            await state.client?.end()
          }),
        hold: { short: 500, full: 8000 },
        rounds: { short: 3, full: TABLES.length }
      })(run)
    })
}
