import { PgConnection } from "@effect/sql-pg"
import { Cause, Effect, Fiber, Option, Result, Schema } from "effect"
import { Migrator, SqlClient, SqlError, SqlSchema } from "effect/sql"
import { sqlStateOf } from "../../services/db/DatabaseErrors.ts"

/** `42501` is `insufficient_privilege`, `3F000` a search path without a usable schema (PostgreSQL, appendix A). */
const DENIED = new Set(["42501", "3F000"])

const isDenied = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  const failure = error instanceof Migrator.MigrationError ? error.cause : error
  return SqlError.isSqlError(failure) && DENIED.has(sqlStateOf(failure.reason.cause) ?? "")
}

const Rights = Schema.Struct({
  role: Schema.String,
  schema: Schema.String,
  mayCreate: Schema.Boolean,
  /** This role owns tables that the connected role may not change. */
  owner: Schema.NullOr(Schema.String),
  isOwnedBySystem: Schema.Boolean
})

const readRights = Effect.map(SqlClient.SqlClient, (sql) =>
  SqlSchema.findOne({
    Request: Schema.Void,
    Result: Rights,
    execute: () =>
      sql`
        SELECT quote_ident(current_user) AS role, quote_ident(s.name) AS schema,
          has_schema_privilege(s.name, 'USAGE') AND has_schema_privilege(s.name, 'CREATE') AS "mayCreate",
          quote_ident(o.tableowner) AS owner,
          coalesce(o.rolsuper, false) AS "isOwnedBySystem"
        FROM (SELECT coalesce(current_schema(), 'public') AS name) s LEFT JOIN LATERAL (
          SELECT t.tableowner, r.rolsuper FROM pg_tables t JOIN pg_roles r ON r.rolname = t.tableowner
          WHERE t.schemaname = s.name AND NOT pg_has_role(r.oid, 'USAGE') LIMIT 1) o ON true`
  })()).pipe(Effect.flatten)

const problemOf = ({ isOwnedBySystem, mayCreate, owner, role, schema }: typeof Rights.Type) => {
  if (!mayCreate) {
    return `the role ${role} may not make tables in the schema ${schema}. As its owner run: `
      + `GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`
  }
  if (owner === null) return `the role ${role} lacks rights on the database`
  return isOwnedBySystem
    ? `the tables of the schema ${schema} belong to ${owner}, and not to the role ${role}. Restore them again by: `
      + `pg_restore --no-owner --role=${role}`
    : `the tables of the schema ${schema} belong to ${owner}, and not to the role ${role}. As a superuser run: `
      + `REASSIGN OWNED BY ${owner} TO ${role}`
}

/** Returns which rights the role lacks, and the command that gives them, if the cause is a lack of rights. */
export const missingRights = (cause: Cause.Cause<unknown>) =>
  isDenied(cause)
    ? Effect.asSome(Effect.map(readRights, problemOf)).pipe(Effect.orElseSucceed(() => Option.none<string>()))
    : Effect.succeedNone

const PREPARED = "SELECT 1 AS prepared"

const OLDEST = 15

const ENCODING = "UTF8"

const SESSION = `
  SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('server_version') AS version,
    current_setting('server_encoding') AS encoding, quote_ident(current_database()) AS name,
    pg_backend_pid() AS pid, quote_ident(current_user) AS role, array(
      SELECT name FROM pg_settings WHERE name = ANY($1::text[]) AND setting = '0' ORDER BY name
    ) AS unlimited`

const Session = Schema.Struct({
  major: Schema.Int,
  version: Schema.String,
  encoding: Schema.String,
  name: Schema.String,
  pid: Schema.Int,
  role: Schema.String,
  unlimited: Schema.Array(Schema.String)
})

const decodeSession = Schema.decodeUnknownEffect(Schema.Tuple([Session]))

const databaseProblemOf = ({ encoding, major, name, version }: typeof Session.Type) => {
  if (major < OLDEST) {
    return `PostgreSQL ${version} is too old: ${OLDEST} or newer is needed. On Debian install postgresql-${OLDEST} or newer `
      + `and run: pg_upgradecluster ${major} main`
  }
  return encoding === ENCODING ?
    undefined :
    `the database ${name} has the encoding ${encoding}, and ${ENCODING} is needed. `
    + `Run: CREATE DATABASE routes TEMPLATE template0 ENCODING '${ENCODING}', with a name that is free, and set it here`
}

/** A server that lacks a prepared statement responds with this code (PostgreSQL, appendix A). */
const isMissing = ({ reason: { cause } }: SqlError.SqlError) => sqlStateOf(cause) === "26000"

const control = (connection: PgConnection.PgConnection, statement: string) => connection.query(statement, [], false)

/** Returns true if a prepared statement works while another connection has the server that prepared it. */
const keepsPrepared = Effect.fnUntraced(function*(config: PgConnection.Config) {
  const one = yield* PgConnection.make(config)
  const other = yield* PgConnection.make(config)
  yield* one.query(PREPARED)
  yield* control(other, "BEGIN")
  // The query is in a transaction, since the driver prepares a missing statement again outside of one.
  const using = yield* Effect.forkChild(Effect.result(Effect.andThen(control(one, "BEGIN"), one.query(PREPARED))))
  // A pool with one server connection has the statement, and lets the first connection wait.
  yield* Effect.timeoutOption(Fiber.await(using), "1 second")
  yield* control(other, "ROLLBACK")
  const used = yield* Fiber.join(using)
  yield* control(one, "ROLLBACK")
  return !(Result.isFailure(used) && isMissing(used.failure))
}, Effect.scoped)

/**
 * Returns the fault of the server, or of a pooler in front of it, and what corrects it. Poolers invent the ids of their
 * connections.
 */
export const checkServer = Effect.fnUntraced(
  function*(config: PgConnection.Config, limits: Readonly<Record<string, string>>) {
    const connection = yield* PgConnection.make(config)
    const { rows } = yield* connection.query(SESSION, [Object.keys(limits)], false)
    const [session] = yield* Effect.orDie(decodeSession(rows))
    const problem = databaseProblemOf(session)
    if (problem !== undefined) return Option.some(problem)
    const { pid, role, unlimited } = session
    if (pid === connection.processId) return Option.none()
    if (unlimited.length > 0) {
      const statements = unlimited.map((name) => `ALTER ROLE ${role} SET ${name} = ${limits[name]}`)
      return Option.some(
        `the pooler does not pass the limits of a session: set them for the role, ${statements.join("; ")}; `
          + "then let the pooler connect again (RECONNECT of PgBouncer)"
      )
    }
    return config.prepare === false || (yield* keepsPrepared(config)) ? Option.none() : Option.some(
      "the pooler does not keep prepared statements: set DATABASE_PREPARED_STATEMENTS=false, "
        + "or max_prepared_statements of PgBouncer 1.21 or newer"
    )
  },
  Effect.scoped
)
