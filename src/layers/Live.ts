import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { IdentityProvider } from "../services/accounts/Provider.ts"
import { Places } from "../services/places/Places.ts"
import { RoutingEngine } from "../services/routing/Engine.ts"
import { mailerLayer } from "./Mail.ts"
import { listenLayer } from "./NodeServer.ts"
import { rateCountersLayer } from "./Redis.ts"
import { telemetryLayer } from "./telemetry/Telemetry.ts"

export const mailerLive = mailerLayer

export const identityProviderLive = IdentityProvider.layer

export const routingEngineLive = RoutingEngine.layer.pipe(Layer.provide(telemetryLayer))

export const placesLive = Places.layer

export const rateCountersLive = rateCountersLayer.pipe(Layer.provide(telemetryLayer))

/** `node:http` is there for the server; Undici's 109 modules would be loaded by the first probe of readiness. */
export const httpClientLive = NodeHttpClient.layerNodeHttpOptions({
  keepAlive: true,
  // An idle connection that the other side is about to close fails the request that takes it.
  timeout: 4_000
})

export const randomnessLive = SecureRandom.layerWebCrypto

export const httpServerLive = listenLayer.pipe(Layer.provide(telemetryLayer))
