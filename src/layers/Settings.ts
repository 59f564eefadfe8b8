import { Config, Effect, Layer, Option, Redacted, Result } from "effect"
import { SettingsRefused } from "./Refusal.ts"

/** What a production start may not do without. */
const REQUIRED = [
  "DATABASE_URL",
  "JWT_SECRET",
  "ANALYTICS_SALT",
  "PAT_PEPPER",
  "GOOGLE_CLIENT_ID",
  "GOOGLE_CLIENT_SECRET"
]

/** What others must not be able to guess. */
const SECRETS = new Set(["JWT_SECRET", "ANALYTICS_SALT", "PAT_PEPPER"])

const MIN_SECRET_LENGTH = 32

const complaintAbout = Effect.fnUntraced(function*(name: string) {
  const setting = yield* Effect.result(Config.Redacted(name))
  if (Result.isFailure(setting) || Redacted.value(setting.success) === "") return [`${name} is missing`]
  return SECRETS.has(name) && Redacted.value(setting.success).length < MIN_SECRET_LENGTH
    ? [`${name} is shorter than ${MIN_SECRET_LENGTH} characters`]
    : []
})

const isDatabaseUrl = (text: string) => URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol)

const databaseComplaint = Config.option(Config.Redacted("DATABASE_URL")).pipe(
  Config.map((url) =>
    Option.exists(url, (url) => Redacted.value(url) !== "" && !isDatabaseUrl(Redacted.value(url)))
      ? ["DATABASE_URL is not a postgres URL"]
      : []
  )
)

/** Limits may be off for a load test, not where strangers call. */
const limitsComplaint = Config.all({
  environment: Config.String("NODE_ENV").pipe(Config.withDefault("")),
  isLimited: Config.Boolean("RATE_LIMITS_ENABLED").pipe(Config.withDefault(true))
}).pipe(
  Config.map(({ environment, isLimited }) =>
    isLimited || environment !== "production" ? [] : ["RATE_LIMITS_ENABLED must not be false in production"]
  )
)

/** Refuses to start without the required settings, naming all that are missing or too short at once. */
export const settingsLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    const complaints = [
      ...(yield* Effect.forEach(REQUIRED, complaintAbout)).flat(),
      ...yield* databaseComplaint,
      ...yield* limitsComplaint
    ]
    if (complaints.length > 0) return yield* new SettingsRefused({ message: complaints.join("; ") })
  })
)
