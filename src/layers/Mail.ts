import { Config, Effect, Layer, Option } from "effect"
import type { HttpClient } from "effect/http"
import { Mailer } from "../services/mail/Mailer.ts"

/** By the provider's API where there is a key for it, else another way. */
export const mailerLayerOr = <E, R>(other: Layer.Layer<Mailer, E, R>) =>
  Layer.unwrap(Effect.map(
    Config.option(Config.Redacted("EMAIL_API_KEY")),
    (key): Layer.Layer<Mailer, E | Config.ConfigError, R | HttpClient.HttpClient> =>
      Option.isSome(key) ? Mailer.layerApi : other
  ))

/** By the provider's API where there is a key for it, else on standard output. */
export const mailerLayer = mailerLayerOr(Layer.provide(
  Mailer.layerStandardOutput,
  Layer.effectDiscard(Effect.logWarning("EMAIL_API_KEY is not set: mailed links go to standard output"))
))
