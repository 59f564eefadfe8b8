import { Clock, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { DateColumn } from "./Tables.ts"

/** Processes and pools use the machine's clock: a test clock would stop waits, or wake a pool 50,000 times a month. */
export const machineClock = Layer.sync(Clock.Clock, Clock.Clock.defaultValue)

/** A clock that differs by more was set on purpose, and is used. */
const MAX_SKEW = Duration.hours(1)

/** Returns the database's time in milliseconds: a process with a wrong clock neither erases early nor backdates. */
export const makeSharedTime = Effect.map(SqlClient.SqlClient, (sql) => {
  const find = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ now: DateColumn }),
    execute: () => sql`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`
  })
  return find().pipe(
    Effect.zipWith(Clock.currentTimeMillis, ({ now }, own) => {
      const shared = now.getTime()
      return Math.abs(shared - own) < Duration.toMillis(MAX_SKEW) ? shared : own
    }),
    Effect.orDie
  )
})
