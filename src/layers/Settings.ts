import { Config, Effect, Layer, Option, Redacted, Result } from "effect"
import { rateLimitsEnabled } from "../services/limits/RateLimits.ts"
import { providerSignInEnabled } from "../services/provider/IdentityProvider.ts"
import { SettingsRefused } from "./Refusal.ts"
import { complaintsAboutSettings } from "./SettingChecks.ts"
import { withExample } from "./SettingExamples.ts"

/** What a production start may not do without. */
const REQUIRED = [
  "DATABASE_URL",
  "JWT_SECRET",
  "ANALYTICS_SALT",
  "PAT_PEPPER",
  "GOOGLE_CLIENT_ID",
  "GOOGLE_CLIENT_SECRET"
]

/** Not required where nobody signs in by a provider. */
const OF_PROVIDER = new Set(["GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET"])

/** What others must not be able to guess. */
const SECRETS = new Set(["JWT_SECRET", "ANALYTICS_SALT", "PAT_PEPPER"])

const MIN_SECRET_LENGTH = 32

const isProduction = Config.String("NODE_ENV").pipe(
  Config.withDefault(""),
  Config.map((environment) => environment === "production")
)

const SHORT = `is shorter than ${MIN_SECRET_LENGTH} characters`

/** In production nothing that is required may be missing, or short where it is a secret; elsewhere short ones are taken. */
const complaintAbout = Effect.fnUntraced(function*(name: string) {
  const setting = yield* Effect.result(Config.Redacted(name))
  if (Result.isFailure(setting) || Redacted.value(setting.success) === "") return [`${name} is missing`]
  if (!SECRETS.has(name) || Redacted.value(setting.success).length >= MIN_SECRET_LENGTH) return []
  if (yield* isProduction) return [`${name} ${SHORT}`]
  yield* Effect.logWarning(`${name} ${SHORT}: production refuses to start with it`)
  return []
})

const isDatabaseUrl = (text: string) => URL.canParse(text) && /^postgres(ql)?:\/\//i.test(text)

const databaseComplaint = Config.option(Config.Redacted("DATABASE_URL")).pipe(
  Config.map((url) =>
    Option.exists(url, (url) => Redacted.value(url) !== "" && !isDatabaseUrl(Redacted.value(url)))
      ? [withExample("DATABASE_URL", "DATABASE_URL is not a postgres URL")]
      : []
  )
)

/** Limits may be off for a load test, not where strangers call. */
const limitsComplaint = Config.all({
  isProduction,
  isLimited: rateLimitsEnabled
}).pipe(
  Config.map(({ isLimited, isProduction }) =>
    isLimited || !isProduction ? [] : ["RATE_LIMITS_ENABLED must not be false in production"]
  ),
  Effect.orElseSucceed(() => [])
)

const refuseFor = (complaints: ReadonlyArray<string>) =>
  complaints.length === 0 ? Effect.void : Effect.fail(new SettingsRefused({ message: complaints.join("; ") }))

/**
 * Refuses to start without the required settings, naming all that are missing or too short at once. Outside production
 * short secrets are taken with a warning.
 */
export const settingsLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    // One that is malformed is named below.
    const hasProvider = yield* Effect.orElseSucceed(providerSignInEnabled, () => true)
    const required = REQUIRED.filter((name) => hasProvider || !OF_PROVIDER.has(name))
    yield* refuseFor([
      ...(yield* Effect.forEach(required, complaintAbout)).flat(),
      ...yield* databaseComplaint,
      ...yield* complaintsAboutSettings,
      ...yield* limitsComplaint
    ])
  })
)

/** The same of the secrets alone, for a program that makes up the rest. */
export const secretsLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    const secrets = yield* Effect.forEach([...SECRETS], complaintAbout)
    yield* refuseFor([...secrets.flat(), ...yield* databaseComplaint, ...yield* complaintsAboutSettings])
  })
)
