import "effect/schema/SchemaJITCompiler/enable"
import { Effect, Layer } from "effect"
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
import { Serving } from "./process/Starting.ts"

const servingLayer = Layer.effectDiscard(Effect.sync(() => process.send?.(Serving.make({}))))

export const productionLayer = servingLayer.pipe(
  Layer.provide(applicationLayer),
  Layer.provide(backgroundLayer),
  Layer.provide([identityProviderLive, mailerLive, placesLive, rateCountersLive, routingEngineLive]),
  Layer.provide([databaseLive, httpClientLive, randomnessLive]),
  Layer.provide(listeningLayer),
  Layer.provide(httpServerLive)
)
