import { Config, Effect, Layer, Option, Redacted, Result } from "effect"
import { isProduction, registry, settings } from "../services/settings/Registry.ts"
import type { Setting } from "../services/settings/Setting.ts"
import { mailWays } from "./Mail.ts"
import { problemOf, SettingsRefused } from "./Refusal.ts"

type Name = keyof typeof settings

const SECRETS = new Set(["JWT_SECRET", "ANALYTICS_SALT", "PAT_PEPPER"])

const FOR_PROVIDER = new Set(["GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET"])

const MIN_SECRET_LENGTH = 32

const SHORT = `is shorter than ${MIN_SECRET_LENGTH} characters`

/** Earlier versions started several processes by it. */
const RETIRED = "WORKERS"

const textOf = (name: string) => Config.option(Config.Redacted(name))

const requirementOf = Effect.fnUntraced(function*(name: string) {
  const text = yield* textOf(name)
  if (Option.isNone(text)) return [`${name} is missing`]
  if (!SECRETS.has(name) || Redacted.value(text.value).length >= MIN_SECRET_LENGTH) return []
  if (yield* isProduction) return [`${name} ${SHORT}`]
  yield* Effect.logWarning(`${name} ${SHORT}: production refuses to start with it`)
  return []
})

const retired = Effect.map(textOf(RETIRED), (workers) =>
  Option.isNone(workers)
    ? []
    : [`${RETIRED} is no setting any more: start replicas instead, see Replicas in docs/operations.md`])

/** By the type of each alone: a default that is derived from another setting would name that one again. */
const malformed = Effect.fnUntraced(function*(checked: ReadonlyArray<Setting<unknown>>) {
  const results = yield* Effect.forEach(checked, ({ given }) => Effect.result(given))
  return results.filter(Result.isFailure).map(({ failure }) => problemOf(failure))
})

const unlimited = Config.all({ isProduction, isLimited: settings.RATE_LIMITS_ENABLED }).pipe(
  Config.map(({ isLimited, isProduction }) =>
    isLimited || !isProduction ? [] : ["RATE_LIMITS_ENABLED must not be false in production"]
  )
)

const twoWaysToMail = Effect.match(mailWays, {
  onFailure: (problem) => problem._tag === "SettingsRefused" ? [problem.message] : [],
  onSuccess: () => []
})

const refuseFor = (problems: ReadonlyArray<string>) =>
  problems.length === 0 ? Effect.void : Effect.fail(new SettingsRefused({ message: problems.join("; ") }))

/** An operator who sets 0 has decided. */
const warnOfWeakPasswords = Effect.gen(function*() {
  if (Option.isSome(yield* settings.PASSWORD_MIN_STRENGTH) || !(yield* settings.SIGNUP_ENABLED)) return
  yield* Effect.logWarning(
    "PASSWORD_MIN_STRENGTH not set, anyone may sign up with a common password such as password1234: 2 is recommended"
  )
})

/** Fails with one message that names all of these settings that are malformed. */
export const wellFormedLayer = (names: ReadonlyArray<Name>) =>
  Layer.effectDiscard(
    Effect.flatMap(malformed(names.flatMap((name) => registry.filter((setting) => setting.name === name))), refuseFor)
  )

const OF_THE_SERVICE = registry.filter(({ isForDevelopment }) => !isForDevelopment)

const withoutMalformed = <E>(check: Effect.Effect<ReadonlyArray<string>, E>) => Effect.orElseSucceed(check, () => [])

/** Fails with one message that names all settings that are missing or malformed. */
const checkedLayer = (required: Effect.Effect<ReadonlyArray<string>>) =>
  Layer.effectDiscard(Effect.gen(function*() {
    yield* refuseFor([
      ...(yield* Effect.forEach(yield* required, requirementOf)).flat(),
      ...yield* malformed(OF_THE_SERVICE),
      ...yield* withoutMalformed(unlimited),
      ...yield* twoWaysToMail,
      ...yield* retired
    ])
  }))

/** Refuses to start without valid settings. */
export const settingsLayer = Layer.effectDiscard(warnOfWeakPasswords).pipe(Layer.provide(checkedLayer(
  Effect.orElseSucceed(settings.PROVIDER_SIGN_IN_ENABLED, () => true).pipe(
    Effect.map((hasProvider) =>
      registry.filter(({ isRequired, name }) => isRequired && (hasProvider || !FOR_PROVIDER.has(name)))
        .map(({ name }) => name)
    )
  )
)))

/** For a start that makes its own secrets and database. */
export const givenSettingsLayer = checkedLayer(Effect.succeed([]))

export const secretsLayer = checkedLayer(Effect.succeed([...SECRETS]))

/** For a command on the server. */
export const commandSettingsLayer = checkedLayer(Effect.succeed(["DATABASE_URL", "JWT_SECRET"]))
