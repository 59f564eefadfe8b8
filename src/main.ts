import { Layer } from "effect"
import { applicationLayer, backgroundLayer } from "./layers/Application.ts"
import { databaseLive } from "./layers/Database.ts"
import {
  httpClientLive,
  httpServerLive,
  identityProviderLive,
  mailerLive,
  placesLive,
  randomnessLive,
  rateCountersLive,
  routingEngineLive
} from "./layers/Live.ts"
import { run } from "./layers/process/Run.ts"
import { startingLayer } from "./layers/process/StartingServer.ts"
import { inWorkers } from "./layers/process/Workers.ts"
import { settingsLayer } from "./layers/Settings.ts"

applicationLayer.pipe(
  Layer.provide(httpServerLive),
  Layer.provide(backgroundLayer),
  Layer.provide([identityProviderLive, mailerLive, placesLive, rateCountersLive, routingEngineLive]),
  Layer.provide([databaseLive, httpClientLive, randomnessLive]),
  Layer.provide(settingsLayer),
  Layer.provide(startingLayer),
  Layer.launch,
  inWorkers,
  run
)
