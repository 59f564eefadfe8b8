import { PgConnection } from "@effect/sql-pg"
import { Effect, Fiber, Option, Predicate, Result, Schema } from "effect"
import type { SqlError } from "effect/sql"

const PREPARED = "SELECT 1 AS prepared"

const SESSION = `
  SELECT pg_backend_pid() AS pid, quote_ident(current_user) AS role, array(
    SELECT name FROM pg_settings WHERE name = ANY($1::text[]) AND setting = '0' ORDER BY name
  ) AS unlimited`

const decodeSession = Schema.decodeUnknownEffect(Schema.Tuple([
  Schema.Struct({ pid: Schema.Int, role: Schema.String, unlimited: Schema.Array(Schema.String) })
]))

/** A server that does not have a prepared statement says so with this code (PostgreSQL, appendix A). */
const isMissing = ({ reason: { cause } }: SqlError.SqlError) =>
  Predicate.hasProperty(cause, "code") && cause.code === "26000"

const control = (connection: PgConnection.PgConnection, statement: string) => connection.query(statement, [], false)

/** Returns whether a statement that one connection prepared is there while another has the server that prepared it. */
const keepsPrepared = Effect.fnUntraced(function*(config: PgConnection.Config) {
  const one = yield* PgConnection.make(config)
  const other = yield* PgConnection.make(config)
  yield* one.query(PREPARED)
  yield* control(other, "BEGIN")
  // In a transaction, since the driver prepares a missing statement again outside of one.
  const using = yield* Effect.forkChild(Effect.result(Effect.andThen(control(one, "BEGIN"), one.query(PREPARED))))
  // A pool of one connection has the statement, and lets the first connection wait.
  yield* Effect.timeoutOption(Fiber.await(using), "1 second")
  yield* control(other, "ROLLBACK")
  const used = yield* Fiber.join(using)
  yield* control(one, "ROLLBACK")
  return !(Result.isFailure(used) && isMissing(used.failure))
}, Effect.scoped)

/** Returns what is wrong where a pooler stands before the server, and what to set. Poolers invent the ids of their connections. */
export const checkPooler = Effect.fnUntraced(
  function*(config: PgConnection.Config, limits: Readonly<Record<string, string>>) {
    const connection = yield* PgConnection.make(config)
    const { rows } = yield* connection.query(SESSION, [Object.keys(limits)], false)
    const [{ pid, role, unlimited }] = yield* Effect.orDie(decodeSession(rows))
    if (pid === connection.processId) return Option.none()
    if (unlimited.length > 0) {
      const statements = unlimited.map((name) => `ALTER ROLE ${role} SET ${name} = ${limits[name]}`)
      return Option.some(
        `the pooler does not pass the limits of a session: set them for the role, ${statements.join("; ")}`
      )
    }
    return config.prepare === false || (yield* keepsPrepared(config)) ? Option.none() : Option.some(
      "the pooler does not keep prepared statements: set DATABASE_PREPARED_STATEMENTS=false, "
        + "or max_prepared_statements of PgBouncer 1.21 or newer"
    )
  },
  Effect.scoped
)
