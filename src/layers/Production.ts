import { Effect, Layer } from "effect"
import "effect/schema/SchemaJITCompiler/enable"
import { build } from "../services/operations/Build.ts"
import { Warnings } from "../services/operations/Metrics.ts"
import { applicationLayer, backgroundLayer, listeningLayer } from "./Application.ts"
import { databaseLive } from "./Database.ts"
import {
  httpClientLive,
  httpServerLive,
  identityProviderLive,
  mailerLive,
  mapStyleLive,
  placesLive,
  randomnessLive,
  rateCountersLive,
  routingEngineLive
} from "./Live.ts"
import { settingWarningsLayer } from "./SettingWarnings.ts"

const startLineLayer = Layer.effectDiscard(
  Effect.flatMap(build, (build) => Effect.logInfo("starting", { ...build, node: process.version }))
)

export const productionLayer = applicationLayer.pipe(
  Layer.merge(startLineLayer),
  Layer.provide([backgroundLayer, settingWarningsLayer]),
  Layer.provide(Warnings.layer),
  Layer.provide([identityProviderLive, mailerLive, mapStyleLive, placesLive, rateCountersLive, routingEngineLive]),
  Layer.provide([databaseLive, httpClientLive, randomnessLive]),
  Layer.provide(listeningLayer),
  Layer.provide(httpServerLive)
)
