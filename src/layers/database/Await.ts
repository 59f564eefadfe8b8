import { PgConnection } from "@effect/sql-pg"
import { Duration, Effect, Schedule, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { isServerState } from "../../services/db/DatabaseErrors.ts"

class DatabaseNotReachable extends Schema.TaggedError<DatabaseNotReachable>()("DatabaseNotReachable", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

class DatabaseRefused extends Schema.TaggedError<DatabaseRefused>()("DatabaseRefused", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

const refused = (cause: SqlError.SqlError) =>
  new DatabaseRefused({ message: "The database refuses to connect: see that DATABASE_URL is right", cause })

const RETRY_INTERVAL = Duration.millis(250)

const LOG_INTERVAL = Duration.seconds(5)

const mayComeUp = ({ reason }: SqlError.SqlError) => reason._tag === "ConnectionError" || isServerState(reason)

/** Waits until the database accepts connections. */
export const awaitDatabase = Effect.fnUntraced(function*(config: PgConnection.Config, longest: Duration.Duration) {
  const connect = Effect.scoped(Effect.asVoid(PgConnection.make(config)))
  const wait = Effect.fnUntraced(function*(first: SqlError.SqlError) {
    const last = { error: first }
    const reporting = yield* Effect.forkChild(
      Effect.repeat(
        Effect.logWarning("database not reachable, waiting", { longest: Duration.format(longest) }),
        Schedule.spaced(LOG_INTERVAL)
      )
    )
    yield* connect.pipe(
      Effect.tapError((error) => Effect.sync(() => last.error = error)),
      Effect.retry({ while: mayComeUp, schedule: Schedule.spaced(RETRY_INTERVAL) }),
      Effect.timeoutOrElse({
        duration: longest,
        orElse: () => {
          const message = `The database was not reachable within ${
            Duration.format(longest)
          }: see that it runs and that DATABASE_URL is right`
          return Effect.fail(new DatabaseNotReachable({ message, cause: last.error }))
        }
      })
    )
    reporting.interruptUnsafe()
    yield* Effect.logInfo("database reachable")
  })
  yield* Effect.mapError(
    Effect.catchIf(connect, mayComeUp, wait),
    (error) => error._tag === "SqlError" ? refused(error) : error
  )
})
