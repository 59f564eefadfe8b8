import { Context, Effect, Layer } from "effect"
import { HttpClient } from "effect/http"
import { readFile } from "node:fs/promises"
import { LOGO_TYPES } from "../settings/SettingTypes.ts"
import { configuredSite, type Logo, logoType } from "../texts/Site.ts"
import { readPart } from "./MapStyle.ts"

/** The logo of the site as a `data:` URL: undefined without one, and if it cannot be had in time. */
export const CardLogo = Context.Reference<Effect.Effect<string | undefined>>("route-planning-service/CardLogo", {
  defaultValue: () => Effect.undefined
})

/** Another server may change its logo, or be away. */
const KEPT_FOR = "10 minutes"

const read = (client: HttpClient.HttpClient, { address, file }: Logo) =>
  file === undefined
    ? readPart(client, address, Object.values(LOGO_TYPES))
    : Effect.map(Effect.promise(() => readFile(file)), (bytes) => ({ bytes, type: logoType(file) }))

export const cardLogoLayer = Layer.effect(
  CardLogo,
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const { logo } = yield* configuredSite
    if (logo === undefined) return Effect.undefined
    const url = Effect.map(
      read(client, logo),
      ({ bytes, type }) => `data:${type};base64,${Buffer.from(bytes).toString("base64")}`
    )
    return yield* Effect.cachedWithTTL(Effect.orElseSucceed(url, () => undefined), KEPT_FOR)
  })
)
