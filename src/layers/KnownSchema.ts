import { Effect, type FileSystem, Layer, Option, type Path, Schema } from "effect"
import { Migrator, SqlClient, SqlSchema } from "effect/sql"
import { fromFileSystem } from "effect/sql/MigratorFileSystem"
import { fileURLToPath } from "node:url"
import { createSchema } from "../services/db/CreateSchema.ts"

class DatabaseTooOld extends Schema.TaggedError<DatabaseTooOld>()("DatabaseTooOld", { message: Schema.String }) {}

const OLDEST = 15

const Server = Schema.Struct({ major: Schema.Int, version: Schema.String })

export const knownServerLayer = Layer.effectDiscard(Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const { major, version } = yield* SqlSchema.findOne({
    Request: Schema.Void,
    Result: Server,
    execute: () =>
      sql`SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('server_version') AS version`
  })()
  if (major < OLDEST) {
    return yield* new DatabaseTooOld({
      message: `DATABASE_URL: PostgreSQL ${version} is too old: set it to one of version ${OLDEST} or newer`
    })
  }
}))

const Latest = Schema.Struct({ id: Schema.Int, name: Schema.String })

/** The last version that migrates older databases, and its last migration. */
const BEFORE = { commit: "31ed898afd", migration: 40 }

const refuse = (message: string) =>
  new Migrator.MigrationError({ kind: "BadState", message: `DATABASE_URL: ${message}` })

/**
 * The migrations in `migrations`, each a step from the one before to the schema in `services/db/schema`. An empty database is
 * built from that schema and has the number of the newest. The migrator asks for them with its table locked.
 */
export const migrations: Migrator.Loader<FileSystem.FileSystem | Path.Path | SqlClient.SqlClient> = Effect.gen(
  function*() {
    const sql = yield* SqlClient.SqlClient
    const all = yield* fromFileSystem(fileURLToPath(new URL("../../migrations", import.meta.url)))
    const newest = all.at(-1)
    const latest = yield* SqlSchema.findOneOption({
      Request: Schema.Void,
      Result: Latest,
      execute: () => sql`SELECT migration_id AS id, name FROM effect_sql_migrations ORDER BY migration_id DESC LIMIT 1`
    })().pipe(Effect.orDie)
    if (newest === undefined) return all
    const [known, name] = newest
    if (Option.isNone(latest)) return [[known, name, Effect.succeed(createSchema)] as const]
    const { id } = latest.value
    if (id > known) {
      return yield* refuse(
        `the database has migration ${id} (${latest.value.name}) of a newer version; this version knows migrations up to `
          + `${known}. Start the newer version, or restore a backup from before the migration`
      )
    }
    if (id < BEFORE.migration) {
      return yield* refuse(
        `the database has migration ${id} (${latest.value.name}) of an earlier version; this version starts from `
          + `${BEFORE.migration}. Start the version of commit ${BEFORE.commit} once, which migrates the database, then this one`
      )
    }
    return all
  }
)
