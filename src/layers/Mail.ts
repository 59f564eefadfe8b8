import { Config, Effect, Layer, Option } from "effect"
import type { HttpClient } from "effect/http"
import { Mailer, smtpMailerLayer } from "../services/mail/Mailers.ts"
import { settings } from "../services/settings/Registry.ts"
import { SettingsRefused } from "./Refusal.ts"

/** Fails where two ways to send mails are set. */
export const mailWays = Effect.gen(function*() {
  const ways = yield* Config.all({ key: settings.EMAIL_API_KEY, server: settings.SMTP_URL })
  if (Option.isSome(ways.key) && Option.isSome(ways.server)) {
    return yield* new SettingsRefused({ message: "EMAIL_API_KEY and SMTP_URL are both set: set one of them" })
  }
  return ways
})

export const mailerLayerOr = <E, R>(other: Layer.Layer<Mailer, E, R>) =>
  Layer.unwrap(Effect.gen(function*(): Effect.fn.Return<
    Layer.Layer<Mailer, E | Config.ConfigError, R | HttpClient.HttpClient>,
    Config.ConfigError | SettingsRefused
  > {
    const { key, server } = yield* mailWays
    if (Option.isSome(key)) return Mailer.layerApi(key.value)
    return Option.match(server, { onNone: () => other, onSome: smtpMailerLayer })
  }))

export const mailerLayer = mailerLayerOr(Layer.provide(
  Mailer.layerStandardOutput,
  Layer.effectDiscard(
    Effect.logWarning("neither EMAIL_API_KEY nor SMTP_URL is set: mailed links go to standard output")
  )
))
