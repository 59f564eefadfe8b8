import { Config, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { plus, runSweep, scheduled, type Swept } from "../retention/Sweeps.ts"
import { RouteViews } from "./RouteViews.ts"

const BATCH = 100

/** Makes the views that a process left when it ended or had another version; searches do not find those routes. */
const makeDue = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const views = yield* RouteViews

  const findOwners = SqlSchema.findAll({
    Request: Schema.Int,
    Result: Schema.Struct({ id: UserId }),
    execute: (after) =>
      sql`
        SELECT id FROM users WHERE zones_revision IS NOT NULL AND id > ${after} ORDER BY id LIMIT ${BATCH}`
  })

  const makeFrom = (after: number): Effect.Effect<Swept, unknown> =>
    Effect.gen(function*() {
      const owners = yield* findOwners(after)
      const made = yield* Effect.forEach(owners, ({ id }) => views.makeAll(id))
      const swept = { rows: made.reduce((sum, rows) => sum + rows, 0), lagMillis: 0 }
      const last = owners.at(-1)
      return last === undefined || owners.length < BATCH ? swept : plus(swept, yield* makeFrom(last.id))
    })

  return yield* makeFrom(0)
})

export const routeViewSweepLayer = Layer.effectDiscard(
  scheduled({
    longestSleep: Config.succeed(Duration.hours(1)),
    run: runSweep("views", makeDue),
    earliestDue: Effect.succeed(Option.none())
  })
)
