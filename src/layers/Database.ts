import { NodeServices } from "@effect/platform-node"
import { PgClient, PgMigrator } from "@effect/sql-pg"
import { Config, Layer } from "effect"
import { fromFileSystem } from "effect/sql/MigratorFileSystem"
import { fileURLToPath } from "node:url"
import { machineClock } from "../services/MachineClock.ts"
import { poolSize } from "../services/metrics/DatabasePool.ts"
import { knownSchemaLayer } from "./KnownSchema.ts"

/** Limits of every session: no statement, lock wait or forgotten transaction may hold others up for long. */
const SESSION_LIMITS = {
  statement_timeout: "5000",
  lock_timeout: "2000",
  idle_in_transaction_session_timeout: "10000"
}

/** The pool on `DATABASE_URL` (PostgreSQL 15 or newer). */
const clientLayer = PgClient.layerConfig({
  url: Config.Redacted("DATABASE_URL"),
  maxConnections: poolSize,
  connectTimeout: Config.succeed("2 seconds"),
  applicationName: Config.succeed("route-planning-service"),
  startupParameters: Config.succeed(SESSION_LIMITS),
  transformJson: Config.succeed(false)
}).pipe(Layer.provide(machineClock))

const migrations = fromFileSystem(fileURLToPath(new URL("../../migrations", import.meta.url)))

/** Brings the schema up to date; of several processes that start at once one does it and the others wait. */
const migratorLayer = knownSchemaLayer(migrations).pipe(
  Layer.provide(PgMigrator.layer({ loader: migrations })),
  Layer.provide(NodeServices.layer)
)

/** A migrated database. */
export const databaseLive = Layer.provideMerge(migratorLayer, clientLayer)
