import { Config, Effect, Layer, Option, Redacted, Result } from "effect"
import { signUpEnabled } from "../services/accounts/SignUpPolicy.ts"
import { minStrength } from "../services/credentials/PasswordPolicy.ts"
import { rateLimitsEnabled } from "../services/limits/RateLimits.ts"
import { providerSignInEnabled } from "../services/provider/IdentityProvider.ts"
import { SettingsRefused } from "./Refusal.ts"
import { problemsOf, settingProblems } from "./SettingChecks.ts"
import { withExample } from "./SettingExamples.ts"

const REQUIRED = [
  "DATABASE_URL",
  "JWT_SECRET",
  "ANALYTICS_SALT",
  "PAT_PEPPER",
  "GOOGLE_CLIENT_ID",
  "GOOGLE_CLIENT_SECRET"
]

const OF_PROVIDER = new Set(["GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET"])

const SECRETS = new Set(["JWT_SECRET", "ANALYTICS_SALT", "PAT_PEPPER"])

const MIN_SECRET_LENGTH = 32

const isProduction = Config.String("NODE_ENV").pipe(
  Config.withDefault(""),
  Config.map((environment) => environment === "production")
)

const SHORT = `is shorter than ${MIN_SECRET_LENGTH} characters`

const problemOf = Effect.fnUntraced(function*(name: string) {
  const setting = yield* Effect.result(Config.Redacted(name))
  if (Result.isFailure(setting) || Redacted.value(setting.success) === "") return [`${name} is missing`]
  if (!SECRETS.has(name) || Redacted.value(setting.success).length >= MIN_SECRET_LENGTH) return []
  if (yield* isProduction) return [`${name} ${SHORT}`]
  yield* Effect.logWarning(`${name} ${SHORT}: production refuses to start with it`)
  return []
})

const isDatabaseUrl = (text: string) => URL.canParse(text) && /^postgres(ql)?:\/\//i.test(text)

const databaseProblem = Config.option(Config.Redacted("DATABASE_URL")).pipe(
  Config.map((url) =>
    Option.exists(url, (url) => Redacted.value(url) !== "" && !isDatabaseUrl(Redacted.value(url)))
      ? [withExample("DATABASE_URL", "DATABASE_URL: Expected a postgres or postgresql URL")]
      : []
  )
)

const limitsProblem = Config.all({
  isProduction,
  isLimited: rateLimitsEnabled
}).pipe(
  Config.map(({ isLimited, isProduction }) =>
    isLimited || !isProduction ? [] : ["RATE_LIMITS_ENABLED must not be false in production"]
  ),
  Effect.orElseSucceed(() => [])
)

const refuseFor = (problems: ReadonlyArray<string>) =>
  problems.length === 0 ? Effect.void : Effect.fail(new SettingsRefused({ message: problems.join("; ") }))

/** An operator who sets 0 has decided. */
const warnOfWeakPasswords = Effect.gen(function*() {
  const strength = yield* Config.option(minStrength)
  if (Option.isSome(strength) || !(yield* signUpEnabled)) return
  yield* Effect.logWarning(
    "PASSWORD_MIN_STRENGTH not set, anyone may sign up with a common password such as password1234: 2 is recommended"
  )
})

/** Fails with one message that names all of the settings that are malformed. */
export const wellFormedLayer = (settings: ReadonlyArray<Effect.Effect<unknown, unknown>>) =>
  Layer.effectDiscard(Effect.flatMap(problemsOf(settings), refuseFor))

/** Fails with one message that names all settings that are missing or malformed. */
const checkedLayer = (required: Effect.Effect<ReadonlyArray<string>>) =>
  Layer.effectDiscard(Effect.gen(function*() {
    yield* refuseFor([
      ...(yield* Effect.forEach(yield* required, problemOf)).flat(),
      ...yield* databaseProblem,
      ...yield* settingProblems,
      ...yield* limitsProblem
    ])
  }))

/** Refuses to start without valid settings. */
export const settingsLayer = Layer.effectDiscard(warnOfWeakPasswords).pipe(Layer.provide(checkedLayer(
  Effect.orElseSucceed(providerSignInEnabled, () => true).pipe(
    Effect.map((hasProvider) => REQUIRED.filter((name) => hasProvider || !OF_PROVIDER.has(name)))
  )
)))

/** For a start that makes its own secrets and database. */
export const givenSettingsLayer = checkedLayer(Effect.succeed([]))

export const secretsLayer = checkedLayer(Effect.succeed([...SECRETS]))

/** For a command on the server. */
export const commandSettingsLayer = checkedLayer(Effect.succeed(["DATABASE_URL", "JWT_SECRET"]))
