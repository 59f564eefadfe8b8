import { Effect, Schema } from "effect"
import { Client } from "pg"
import type { Fault } from "../fault.ts"
import { segment } from "../segment.ts"
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
    const state: { client: Client | undefined } = { client: undefined }
    return yield* segment(run, world, {
      inject: (_, round) => {
        const table = tables[round % tables.length] ?? "routes"
        return Effect.map(lock(world, table), (client) => {
          state.client = client
        })
      },
      heal: () =>
        Effect.promise(async () => {
          await state.client?.end()
        }),
      hold: { short: 500, full: 8000 },
      rounds: { short: 3, full: tables.length }
    })
  })
}
