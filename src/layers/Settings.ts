import {
  Cause,
  Config,
  Effect,
  Layer,
  Option,
  Predicate,
  Redacted,
  Result,
  Schema,
  SchemaAST,
  type SchemaIssue
} from "effect"
import { issuesOf, type ValidationIssue } from "../schema/Issues.ts"
import { isProduction, OIDC_PREFIX, oidcSettings, registry, settings } from "../services/operations/SettingsRegistry.ts"
import type { Setting } from "../services/operations/SettingTypes.ts"
import { misspeltNames } from "./SettingWarnings.ts"

/** The message names every wrong setting, and no value. */
class SettingsRefused extends Schema.TaggedError<SettingsRefused>()("SettingsRefused", {
  message: Schema.String
}) {}

const messagesOf = (error: unknown): ReadonlyArray<string> =>
  error instanceof Error ? [error.message, ...messagesOf(error.cause)] : []

const ListenError = Schema.Struct({
  code: Schema.String,
  syscall: Schema.Literals(["listen", "getaddrinfo"]),
  address: Schema.optional(Schema.String),
  hostname: Schema.optional(Schema.String),
  port: Schema.optional(Schema.Number)
})

const isListenError = Schema.is(ListenError)

const LISTEN_COMPLAINTS: Readonly<Record<string, (host: string, port: number | undefined) => string>> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} of ${host} is in use: stop the process that listens there, or set PORT to another`,
  EACCES: (_host, port) => `Port ${port} may not be used by this user: set PORT to 1024 or above`,
  EADDRNOTAVAIL: (host) => `HOST ${host} is not an address of this machine`,
  ENOTFOUND: (host) => `HOST ${host} is not an address of this machine`
}

/** Returns undefined for other errors: the address of the database may be unknown, too. */
const listenProblem = (error: unknown): string | undefined => {
  const cause = Predicate.isTagged(error, "ServeError") && Predicate.hasProperty(error, "cause") ? error.cause : error
  if (!isListenError(cause)) return undefined
  return LISTEN_COMPLAINTS[cause.code]?.(cause.address ?? cause.hostname ?? "", cause.port)
}

const isMissing = (issue: SchemaIssue.Issue): boolean =>
  issue._tag === "Encoding" || issue._tag === "Pointer"
    ? isMissing(issue.issue)
    : issue._tag === "InvalidType" && SchemaAST.isString(issue.ast)

const withExample = (name: string, problem: string): string => {
  const example = registry.find((setting) => setting.name === name)?.example
  return example === undefined ? problem : `${problem} (for example ${name}=${example})`
}

const settingProblem = ({ cause, message }: Config.ConfigError): string => {
  if (!Schema.isSchemaError(cause)) return message
  const problem = (issue: ValidationIssue) =>
    isMissing(cause.issue) ? `${issue.path} is missing` : `${issue.path}: ${issue.message}`
  return issuesOf(cause).map((issue) => withExample(issue.path.split(".")[0] ?? "", problem(issue))).join("; ")
}

export const problemOf = (error: unknown): string => {
  const problem = listenProblem(error)
  if (problem !== undefined) return problem
  if (error instanceof Config.ConfigError) return settingProblem(error)
  return [...new Set(messagesOf(error))].filter((text) => text !== "").join(": ")
}

export const refusalOf = (cause: Cause.Cause<unknown>): string => {
  const errors = cause.reasons.flatMap((reason) => {
    if (Cause.isFailReason(reason)) return [reason.error]
    return Cause.isDieReason(reason) ? [reason.defect] : []
  })
  return [...new Set(errors.map(problemOf))].join("; ").replaceAll(/\s*\n\s*/g, " | ")
}

type Name = keyof typeof settings

const SECRETS = new Set(["JWT_SECRET", "ANALYTICS_SALT", "PAT_PEPPER"])

const FOR_PROVIDER = new Set(["GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET"])

const MIN_SECRET_LENGTH = 32

const SHORT = `is shorter than ${MIN_SECRET_LENGTH} characters`

/** Earlier versions started several processes by this setting. */
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

/** Checks the type of each setting alone: a default that is derived from another setting would name that one again. */
const malformed = Effect.fnUntraced(function*(checked: ReadonlyArray<Setting<unknown>>) {
  const results = yield* Effect.forEach(checked, ({ given }) => Effect.result(given))
  return results.filter(Result.isFailure).map(({ failure }) => problemOf(failure))
})

/** Returns the settings of the providers of `OIDC_PREFIXES`, without those of an unused default prefix. */
const usedProviders = Effect.gen(function*() {
  if (!(yield* settings.PROVIDER_SIGN_IN_ENABLED)) return []
  const prefixes = [...new Set(yield* settings.OIDC_PREFIXES)]
  const isUsed = Effect.fnUntraced(function*(prefix: string) {
    const texts = yield* Effect.forEach(Object.values(oidcSettings(prefix)), ({ name }) => textOf(name))
    return prefix !== OIDC_PREFIX || texts.some(Option.isSome)
  })
  return (yield* Effect.filter(prefixes, isUsed)).map(oidcSettings)
})

const incompleteProviders = Effect.gen(function*() {
  const providers = yield* usedProviders
  const needed = providers.flatMap(({ CLIENT_ID, CLIENT_SECRET, ISSUER }) => [ISSUER, CLIENT_ID, CLIENT_SECRET])
  const others = providers.flatMap(({ ISSUER }) => ISSUER.name === `${OIDC_PREFIX}_ISSUER` ? [] : [ISSUER])
  return [...(yield* Effect.forEach(needed, ({ name }) => requirementOf(name))).flat(), ...yield* malformed(others)]
})

const unlimited = Config.all({ isProduction, isLimited: settings.RATE_LIMITS_ENABLED }).pipe(
  Config.map(({ isLimited, isProduction }) =>
    isLimited || !isProduction ? [] : ["RATE_LIMITS_ENABLED must not be false in production"]
  )
)

const twoWaysToMail = Effect.map(
  Effect.forEach(["EMAIL_API_KEY", "SMTP_URL"], textOf),
  (ways) => ways.every(Option.isSome) ? ["EMAIL_API_KEY and SMTP_URL are both set: set one of them"] : []
)

const refuseFor = (problems: ReadonlyArray<string>) =>
  problems.length === 0 ? Effect.void : Effect.fail(new SettingsRefused({ message: problems.join("; ") }))

/** Fails with one message that names every malformed setting of `names`. */
export const wellFormedLayer = (names: ReadonlyArray<Name>) =>
  Layer.effectDiscard(
    Effect.flatMap(malformed(names.flatMap((name) => registry.filter((setting) => setting.name === name))), refuseFor)
  )

const OF_THE_SERVICE = registry.filter(({ isForDevelopment }) => !isForDevelopment)

const withoutMalformed = <A, E>(check: Effect.Effect<ReadonlyArray<A>, E>) => Effect.orElseSucceed(check, () => [])

/** Fails with one message that names every missing or malformed setting, and what a misspelt name may mean. */
const checkedLayer = (required: Effect.Effect<ReadonlyArray<string>>) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const problems = [
      ...(yield* Effect.forEach(yield* required, requirementOf)).flat(),
      ...yield* malformed(OF_THE_SERVICE),
      ...yield* withoutMalformed(unlimited),
      ...yield* withoutMalformed(incompleteProviders),
      ...yield* twoWaysToMail,
      ...yield* retired
    ]
    yield* refuseFor(problems.length === 0 ? [] : [...problems, ...yield* misspeltNames])
  }))

/** The client of `POST /auth/google` is required, unless other providers are set or sign-in by providers is off. */
const required = Effect.gen(function*() {
  const isEnabled = yield* Effect.orElseSucceed(settings.PROVIDER_SIGN_IN_ENABLED, () => true)
  const others = yield* withoutMalformed(usedProviders)
  const needsGoogle = isEnabled && others.length === 0
  return registry.filter(({ isRequired, name }) => isRequired && (needsGoogle || !FOR_PROVIDER.has(name)))
    .map(({ name }) => name)
})

export const settingsLayer = checkedLayer(required)

export const givenSettingsLayer = checkedLayer(Effect.succeed([]))

export const secretsLayer = checkedLayer(Effect.succeed([...SECRETS]))

export const commandSettingsLayer = checkedLayer(Effect.succeed(["DATABASE_URL", "JWT_SECRET"]))
