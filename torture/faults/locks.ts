import { Effect, Schema } from "effect"
import { Client } from "pg"
import type { Fault } from "../fault.ts"
import type { Recorder } from "../recorder.ts"
import { segment } from "../segment.ts"
import { READ_FROM, visitor } from "../visitor.ts"
import type { World } from "../world.ts"

const Tables = Schema.Array(Schema.Struct({ relname: Schema.String }))

/** All tables of the service, those that it uses most before the others. */
const tablesOf = ({ postgres }: World) =>
  Effect.promise(async () => {
    const client = new Client({ connectionString: postgres.url() })
    await client.connect()
    const { rows } = await client.query(
      "SELECT relname FROM pg_stat_user_tables ORDER BY seq_scan + coalesce(idx_scan, 0) DESC, relname"
    )
    await client.end()
    return Schema.decodeUnknownSync(Tables)(rows).map(({ relname }) => relname)
  })

/** Milliseconds; a request that needs no locked table is quicker. */
const NOTICED = 1000

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
  run: Effect.fnUntraced(function*(run) {
    const world = yield* run.world
    const tables = yield* tablesOf(world)
    const state: { table: string | undefined; client: Client | undefined } = { table: undefined, client: undefined }
    return yield* segment(run, world, {
      beside: (_, recorder) => undisturbed(world, recorder, state),
      inject: (_, round) => {
        const table = tables[round % tables.length] ?? "routes"
        return Effect.map(lock(world, table), (client) => {
          state.client = client
          state.table = table
        })
      },
      heal: () =>
        Effect.promise(async () => {
          state.table = undefined
          await state.client?.end()
        }),
      hold: { short: 500, full: 8000 },
      rounds: { short: 3, full: tables.length }
    })
  })
}
