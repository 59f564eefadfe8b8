import { Config, Effect, Layer, Option } from "effect"
import type { HttpClient } from "effect/http"
import { Mailer } from "../services/mail/Mailer.ts"
import { smtpMailerLayer, smtpUrl } from "../services/mail/SmtpMailer.ts"
import { SettingsRefused } from "./Refusal.ts"

export const mailerLayerOr = <E, R>(other: Layer.Layer<Mailer, E, R>) =>
  Layer.unwrap(Effect.gen(function*(): Effect.fn.Return<
    Layer.Layer<Mailer, E | Config.ConfigError, R | HttpClient.HttpClient>,
    Config.ConfigError | SettingsRefused
  > {
    const hasKey = Option.isSome(yield* Config.option(Config.Redacted("EMAIL_API_KEY")))
    const hasServer = Option.isSome(yield* Config.option(smtpUrl))
    if (hasKey && hasServer) {
      return yield* new SettingsRefused({ message: "EMAIL_API_KEY and SMTP_URL are both set: set one of them" })
    }
    if (hasKey) return Mailer.layerApi
    return hasServer ? smtpMailerLayer : other
  }))

export const mailerLayer = mailerLayerOr(Layer.provide(
  Mailer.layerStandardOutput,
  Layer.effectDiscard(
    Effect.logWarning("neither EMAIL_API_KEY nor SMTP_URL is set: mailed links go to standard output")
  )
))
