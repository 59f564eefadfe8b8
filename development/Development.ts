import { Config, ConfigProvider, Effect, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServer } from "effect/http"
import { join, resolve } from "node:path"
import { DOCS_PAGE } from "../src/http/request/RouteTemplates.ts"
import { applicationLayer, backgroundLayer } from "../src/layers/Application.ts"
import { databaseLive } from "../src/layers/Database.ts"
import {
  httpClientLive,
  httpServerLive,
  identityProviderLive,
  mailerLayerOr,
  mapStyleLive,
  placesLive,
  randomnessLive,
  rateCountersLive,
  routingEngineLive
} from "../src/layers/Live.ts"
import { secretsLayer } from "../src/layers/Settings.ts"
import { settings } from "../src/services/operations/SettingsRegistry.ts"
import { RoutingEngine } from "../src/services/routing/Engine.ts"
import { developmentMailboxLayer, mailboxFile } from "./DevelopmentMailbox.ts"
import { generatedSecrets } from "./DevelopmentSecrets.ts"
import { embeddedPostgres } from "./EmbeddedDatabase.ts"

const databaseUrl = Effect.fnUntraced(function*(directory: string) {
  const given = yield* Config.option(settings.DATABASE_URL)
  if (Option.isSome(given)) return Redacted.value(given.value)
  const data = join(directory, "postgres")
  yield* Effect.logInfo("starting PostgreSQL, initialised at the first start", { data })
  return Redacted.value(yield* embeddedPostgres({ directory: data, durable: true }))
})

const defaultsLayer = (directory: string) =>
  Layer.unwrap(Effect.gen(function*() {
    const secrets = yield* generatedSecrets(directory)
    const defaults = { ...secrets, DATABASE_URL: yield* databaseUrl(directory), HOST: "127.0.0.1" }
    return ConfigProvider.layerAdd(ConfigProvider.fromUnknown(defaults))
  })).pipe(Layer.provide(SecureRandom.layerWebCrypto))

const readyHintLayer = (directory: string) =>
  Layer.effectDiscard(
    HttpServer.addressFormattedWith((address) =>
      Effect.logInfo("ready", {
        address,
        api: `${address}${DOCS_PAGE}`,
        mailbox: mailboxFile(directory),
        data: directory
      })
    )
  )

const engineHintLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    const { status } = yield* RoutingEngine
    const state = yield* status
    yield* Effect.logInfo(
      state.status === "ok"
        ? `The routing engine is Valhalla ${state.version}`
        : "No routing engine is reachable: `npm run engine -- <file.osm.pbf>` starts one from an OpenStreetMap extract"
    )
  }).pipe(Effect.forkScoped)
)

/** The service has its own PostgreSQL, secrets and mailbox in a folder. */
export const developmentLayer = Layer.unwrap(Effect.gen(function*() {
  const directory = resolve(yield* settings.DATA_DIR)
  return Layer.merge(readyHintLayer(directory).pipe(Layer.provideMerge(applicationLayer)), engineHintLayer).pipe(
    Layer.provide(httpServerLive),
    Layer.provide(backgroundLayer),
    Layer.provide([
      identityProviderLive,
      mailerLayerOr(developmentMailboxLayer(directory)),
      mapStyleLive,
      placesLive,
      rateCountersLive,
      routingEngineLive
    ]),
    Layer.provide([databaseLive, httpClientLive, randomnessLive]),
    Layer.provide(secretsLayer),
    Layer.provide(defaultsLayer(directory))
  )
}))
