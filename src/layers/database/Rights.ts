import { Cause, Effect, Option, Predicate, Schema } from "effect"
import { SqlClient, SqlError, SqlSchema } from "effect/sql"

/** `insufficient_privilege`, and a search path without a schema that the role may use (PostgreSQL, appendix A). */
const DENIED = new Set(["42501", "3F000"])

const codeOf = (error: unknown): string => {
  const cause = Predicate.isTagged(error, "MigrationError") && Predicate.hasProperty(error, "cause")
    ? error.cause
    : error
  return SqlError.isSqlError(cause) && Predicate.hasProperty(cause.reason.cause, "code")
    ? String(cause.reason.cause.code)
    : ""
}

const isDenied = (cause: Cause.Cause<unknown>) => DENIED.has(codeOf(Cause.squash(cause)))

const Rights = Schema.Struct({
  role: Schema.String,
  schema: Schema.String,
  mayCreate: Schema.Boolean,
  /** The owner of tables that the role may not change. */
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

/** Returns which rights the role lacks, with the command that gives them, where work failed because of that. */
export const missingRights = (cause: Cause.Cause<unknown>) =>
  isDenied(cause)
    ? Effect.asSome(Effect.map(readRights, problemOf)).pipe(Effect.orElseSucceed(() => Option.none<string>()))
    : Effect.succeedNone
