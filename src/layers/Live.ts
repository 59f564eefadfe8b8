import { NodeHttpClient } from "@effect/platform-node"
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { Places } from "../services/places/Places.ts"
import { IdentityProvider } from "../services/provider/IdentityProvider.ts"
import { RoutingEngine } from "../services/routing/RoutingEngine.ts"
import { mailerLayer } from "./Mail.ts"
import { listenLayer } from "./NodeServer.ts"
import { rateCountersLayer } from "./Redis.ts"
import { telemetryLayer } from "./telemetry/Telemetry.ts"

export const mailerLive = mailerLayer

/** Sign-in by the OpenID Connect provider at `GOOGLE_ISSUER`. */
export const identityProviderLive = IdentityProvider.layer

/** Valhalla at `ROUTING_ENGINE_URL`, measured with the application. */
export const routingEngineLive = RoutingEngine.layer.pipe(Layer.provide(telemetryLayer))

/** Cities and borders of the world, from files. */
export const placesLive = Places.layer

/** Counts of the rate limits, measured with the application: in Redis where `REDIS_URL` is set, in this process where not. */
export const rateCountersLive = rateCountersLayer.pipe(Layer.provide(telemetryLayer))

export const httpClientLive = NodeHttpClient.layerUndici

export const randomnessLive = SecureRandom.layerWebCrypto

/** HTTP on a socket, measured with the application. */
export const httpServerLive = listenLayer.pipe(Layer.provide(telemetryLayer))
