import { PgClient } from "@effect/sql-pg"
import { ConfigProvider, Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { inject } from "vitest"
import { databaseLive } from "../../src/layers/Database.ts"

/** The other databases are clones of this migrated one. */
export const TEMPLATE = "template_migrated"

/** Returns the address of another database of the same server. */
export const databaseAt = (url: string, name: string): string => {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}

export const migrated = (url: string) =>
  Effect.void.pipe(Effect.provide(
    Layer.provide(databaseLive, ConfigProvider.layer(ConfigProvider.fromUnknown({ DATABASE_URL: url })))
  ))

/** A worker has this one connection to the server, for all of its files. */
const server = ManagedRuntime.make(Layer.orDie(
  Layer.unwrap(Effect.sync(() => PgClient.layer({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1 })))
))

/** Runs statements as the superuser of the test's server. */
export const onServer = <A, E>(statement: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  Effect.flatMap(server.contextEffect, (context) => Effect.provide(SqlClient.SqlClient.use(statement), context)).pipe(
    Effect.orDie
  )

const temporaryDatabase = (template: string) =>
  Effect.acquireRelease(
    Effect.sync(() => `test_${randomUUID().replaceAll("-", "")}`).pipe(
      Effect.tap((name) =>
        onServer((sql) => sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(template)} STRATEGY FILE_COPY`)
      )
    ),
    (name) => onServer((sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`)
  ).pipe(Effect.map((name) => databaseAt(inject("postgresUrl"), name)))

/** Creates a migrated database, which is gone when the scope closes, and returns its address. */
export const clonedDatabase = temporaryDatabase(TEMPLATE)

/** Creates a database without a single table, which is gone when the scope closes, and returns its address. */
export const emptyDatabase = temporaryDatabase("template0")
