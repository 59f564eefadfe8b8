import { Config, Effect, Layer, Option, Redacted, Result } from "effect"
import { rateLimitsEnabled } from "../services/limits/RateLimits.ts"
import { providerSignInEnabled } from "../services/provider/IdentityProvider.ts"
import { SettingsRefused } from "./Refusal.ts"
import { settingProblems } from "./SettingChecks.ts"
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

/** Refuses to start without valid settings, with one message that names all that are wrong. */
export const settingsLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    const hasProvider = yield* Effect.orElseSucceed(providerSignInEnabled, () => true)
    const required = REQUIRED.filter((name) => hasProvider || !OF_PROVIDER.has(name))
    yield* refuseFor([
      ...(yield* Effect.forEach(required, problemOf)).flat(),
      ...yield* databaseProblem,
      ...yield* settingProblems,
      ...yield* limitsProblem
    ])
  })
)

export const secretsLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    const secrets = yield* Effect.forEach([...SECRETS], problemOf)
    yield* refuseFor([...secrets.flat(), ...yield* databaseProblem, ...yield* settingProblems])
  })
)
