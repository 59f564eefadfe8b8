import { Context, Effect, Layer, Option } from "effect"
import leven from "leven"
import { Warnings } from "../services/operations/Metrics.ts"
import { isProduction, oidcSettings, registry, settings } from "../services/operations/SettingsRegistry.ts"

const NAMES = registry.map(({ name }) => name)

/** In a shorter name, two different letters make another word. */
const LEAST_LENGTH = 8

const MAX_DIFFERENCES = 2

const misspelt = (name: string): ReadonlyArray<string> => {
  if (name.length < LEAST_LENGTH || NAMES.includes(name)) return []
  const meant = NAMES.find((known) => known.length >= LEAST_LENGTH && leven(name, known) <= MAX_DIFFERENCES)
  return meant === undefined ? [] : [`${name} is no setting: did you mean ${meant}?`]
}

export const EnvironmentNames = Context.Reference<ReadonlyArray<string>>("route-planning-service/EnvironmentNames", {
  defaultValue: () => Object.keys(process.env)
})

export const misspeltNames = Effect.gen(function*() {
  const prefixes = yield* Effect.orElseSucceed(settings.OIDC_PREFIXES, () => [])
  const ofProviders = new Set(prefixes.flatMap((prefix) => Object.values(oidcSettings(prefix)).map(({ name }) => name)))
  return (yield* EnvironmentNames).flatMap((name) => ofProviders.has(name) ? [] : misspelt(name))
})

const isLocal = ({ hostname }: URL) => /^(?:localhost|127\..*|\[::1\])$/.test(hostname)

const address = Effect.gen(function*() {
  const url = yield* settings.BASE_URL
  if (!(yield* isProduction)) return []
  if (isLocal(url)) {
    return [`BASE_URL is ${url.origin}: links in mails and pages lead nowhere for others, set the public address`]
  }
  return url.protocol === "https:"
    ? []
    : [
      `BASE_URL is ${url.origin}: passwords and sessions cross the network unencrypted, put a front with TLS before the service`
    ]
})

/** An operator who sets a strength, even 0, has decided and gets no warning. */
const weakPasswords = Effect.gen(function*() {
  if (Option.isSome(yield* settings.PASSWORD_MIN_STRENGTH) || !(yield* settings.SIGNUP_ENABLED)) return []
  return [
    "PASSWORD_MIN_STRENGTH not set, anyone may sign up with a common password such as password1234: 2 is recommended"
  ]
})

/** Warns of settings that are risky or may be mistakes, but that the service can run with. */
export const settingWarningsLayer = Layer.effectDiscard(Effect.gen(function*() {
  const { add } = yield* Warnings
  const addAll = (warnings: ReadonlyArray<string>) => Effect.forEach(warnings, add, { discard: true })
  yield* Effect.forEach([misspeltNames, address, weakPasswords], Effect.flatMap(addAll), { discard: true })
}))
