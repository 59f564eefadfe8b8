import "effect/schema/SchemaJITCompiler/enable"
import { Layer } from "effect"
import { Warnings } from "../services/operations/Warnings.ts"
import { applicationLayer, backgroundLayer, listeningLayer } from "./Application.ts"
import { databaseLive } from "./Database.ts"
import {
  httpClientLive,
  httpServerLive,
  identityProviderLive,
  mailerLive,
  placesLive,
  randomnessLive,
  rateCountersLive,
  routingEngineLive
} from "./Live.ts"
import { settingWarningsLayer } from "./SettingWarnings.ts"

export const productionLayer = applicationLayer.pipe(
  Layer.provide([backgroundLayer, settingWarningsLayer]),
  Layer.provide(Warnings.layer),
  Layer.provide([identityProviderLive, mailerLive, placesLive, rateCountersLive, routingEngineLive]),
  Layer.provide([databaseLive, httpClientLive, randomnessLive]),
  Layer.provide(listeningLayer),
  Layer.provide(httpServerLive)
)
