import * as NodeServices from "@effect/platform-node/NodeServices"
import { PgClient } from "@effect/sql-pg"
import { Config, Duration, Effect, Layer } from "effect"
import { Migrator } from "effect/sql"
import { SERVICE_NAME } from "../schema/ServiceName.ts"
import { machineClock } from "../services/db/SharedTime.ts"
import { settings } from "../services/settings/Registry.ts"
import { awaitDatabase } from "./database/Await.ts"
import { clientLayer } from "./database/Client.ts"
import { makeColumnTypes } from "./database/ColumnTypes.ts"
import { knownServerLayer, migrations } from "./KnownSchema.ts"
import { metricsLayer } from "./telemetry/Telemetry.ts"

/** No statement, lock wait or forgotten transaction may block others for long. */
const SESSION_LIMITS = {
  statement_timeout: "5000",
  lock_timeout: "2000",
  idle_in_transaction_session_timeout: "10000"
}

const pool = Config.unwrap({
  url: settings.DATABASE_URL,
  maxConnections: settings.DATABASE_POOL_SIZE,
  connectTimeout: Config.succeed(Duration.seconds(2)),
  applicationName: Config.succeed(SERVICE_NAME),
  startupParameters: Config.succeed(SESSION_LIMITS)
})

const poolLayer = Layer.unwrap(Effect.gen(function*() {
  const config = yield* pool
  yield* awaitDatabase(config, yield* settings.DATABASE_WAIT)
  return Layer.provideMerge(knownServerLayer, clientLayer({ ...config, types: makeColumnTypes() }))
})).pipe(Layer.provide([machineClock, metricsLayer]))

const migratorClient = Layer.unwrap(
  Effect.map(pool, (config) => PgClient.layer({ ...config, maxConnections: 1, startupParameters: {} }))
).pipe(Layer.provide(machineClock))

/** Of several processes that start at once, one migrates and the others wait. */
const migrate = Effect.provide(Migrator.make({})({ loader: migrations }), migratorClient)

const migratorLayer = Layer.effectDiscard(migrate).pipe(Layer.provide(NodeServices.layer))

export const databaseLive = Layer.provideMerge(migratorLayer, poolLayer)
