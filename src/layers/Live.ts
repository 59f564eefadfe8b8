import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import type { HttpClient } from "effect/http"
import { IdentityProvider } from "../services/accounts/Provider.ts"
import { Places } from "../services/geometry/Places.ts"
import { Mailer, smtpMailerLayer } from "../services/mail/Mailers.ts"
import { Warnings } from "../services/operations/Metrics.ts"
import { settings } from "../services/operations/SettingsRegistry.ts"
import { cardLogoLayer, mapStyleLayer } from "../services/pictures/MapStyle.ts"
import { RoutingEngine } from "../services/routing/Engine.ts"
import { listenLayer } from "./NodeServer.ts"
import { rateCountersLayer } from "./Redis.ts"
import { telemetryLayer } from "./telemetry/Tracing.ts"

export const identityProviderLive = IdentityProvider.layer

export const routingEngineLive = RoutingEngine.layer.pipe(Layer.provide(telemetryLayer))

export const placesLive = Places.layer

export const mapStyleLive = mapStyleLayer.pipe(Layer.provide(Warnings.layer), Layer.merge(cardLogoLayer))

export const rateCountersLive = rateCountersLayer.pipe(Layer.provide(telemetryLayer))

/** The server has loaded `node:http` already; the first probe of readiness would load Undici's 109 modules. */
export const httpClientLive = NodeHttpClient.layerNodeHttpOptions({
  keepAlive: true,
  // An idle connection that the other side is about to close fails the request that takes it.
  timeout: 4_000
})

export const randomnessLive = SecureRandom.layerWebCrypto

export const httpServerLive = listenLayer.pipe(Layer.provide(telemetryLayer))

export const mailerLayerOr = <E, R>(other: Layer.Layer<Mailer, E, R>) =>
  Layer.unwrap(Effect.gen(function*(): Effect.fn.Return<
    Layer.Layer<Mailer, E | Config.ConfigError, R | HttpClient.HttpClient>,
    Config.ConfigError
  > {
    const { key, server } = yield* Config.all({ key: settings.EMAIL_API_KEY, server: settings.SMTP_URL })
    if (Option.isSome(key)) return Mailer.layerApi(key.value)
    return Option.match(server, { onNone: () => other, onSome: smtpMailerLayer })
  }))

export const mailerLive = mailerLayerOr(Layer.provide(
  Mailer.layerStandardOutput,
  Layer.effectDiscard(
    Effect.logWarning("neither EMAIL_API_KEY nor SMTP_URL is set: mailed links go to standard output")
  )
))
