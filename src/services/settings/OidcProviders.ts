import { Config, Effect, Option, type Redacted } from "effect"
import { oidcSettings, settings } from "./Registry.ts"

/** An OpenID Connect provider that signs in by redirect. */
export interface OidcProvider {
  /** Stands in the paths of its sign-in. */
  readonly id: string
  /** Shown to people. */
  readonly name: string
  readonly issuer: URL
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

const idOf = (prefix: string) => prefix.toLowerCase().replaceAll("_", "-")

const providerOf = (prefix: string): Config.Config<Option.Option<OidcProvider>> => {
  const { CLIENT_ID, CLIENT_SECRET, ISSUER, NAME } = oidcSettings(prefix)
  return Config.map(
    Config.all({
      clientId: CLIENT_ID.value,
      clientSecret: CLIENT_SECRET.value,
      issuer: ISSUER.value,
      name: NAME.value
    }),
    ({ name, ...required }) =>
      Option.map(Option.all(required), (provider) => ({
        ...provider,
        id: idOf(prefix),
        name: Option.getOrElse(name, () => provider.issuer.hostname)
      }))
  )
}

/** The providers of `OIDC_PREFIXES`, in its order; none while sign-in by a provider is switched off. */
export const oidcProviders: Effect.Effect<ReadonlyArray<OidcProvider>, Config.ConfigError> = Effect.gen(function*() {
  if (!(yield* settings.PROVIDER_SIGN_IN_ENABLED)) return []
  const prefixes = new Set(yield* settings.OIDC_PREFIXES)
  return (yield* Effect.forEach(prefixes, providerOf)).flatMap(Option.toArray)
})
