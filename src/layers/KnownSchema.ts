import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { ResolvedMigration } from "effect/sql/Migrator"

class DatabaseTooNew extends Schema.TaggedError<DatabaseTooNew>()("DatabaseTooNew", { message: Schema.String }) {}

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

/** Refuses a database with a migration that this version does not know. Build it after the migrations. */
export const knownSchemaLayer = <E, R>(loader: Effect.Effect<ReadonlyArray<ResolvedMigration>, E, R>) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const latest = yield* SqlSchema.findOne({
      Request: Schema.Void,
      Result: Latest,
      execute: () => sql`SELECT migration_id AS id, name FROM effect_sql_migrations ORDER BY migration_id DESC LIMIT 1`
    })()
    const known = Math.max(...(yield* loader).map(([id]) => id))
    if (latest.id > known) {
      return yield* new DatabaseTooNew({
        message:
          `DATABASE_URL: the database has migration ${latest.id} (${latest.name}) of a newer version; this version `
          + `knows migrations up to ${known}. Start the newer version, or restore a backup from before the migration`
      })
    }
  }))
