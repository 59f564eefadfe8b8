import { Config, Effect, Option, Redacted, Result, Schema } from "effect"
import { validateHeaderName, validateHeaderValue } from "node:http"
import { telemetryEnabled } from "../../services/metrics/Metrics.ts"
import { SettingsRefused } from "../Refusal.ts"
import { withExample } from "../SettingExamples.ts"

const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

export type SamplerName = typeof SAMPLERS[number]

export interface TraceSettings {
  readonly url: URL
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly sampler: SamplerName
  readonly ratio: number
  readonly database: Option.Option<{ readonly name: string; readonly host: string; readonly port: number }>
}

const POSTGRES_PORT = 5432

const refuse = (name: string, problem: string) =>
  Effect.fail(new SettingsRefused({ message: withExample(name, `${name}: ${problem}`) }))

const given = (name: string) =>
  Effect.map(
    Config.option(Config.Redacted(name)),
    (setting) => Option.filter(Option.map(setting, Redacted.value), (text) => text !== "")
  )

const endpoint = Effect.flatMap(
  given("OTEL_EXPORTER_OTLP_ENDPOINT"),
  Option.match({
    onNone: () => Effect.succeedNone,
    onSome: (text) => {
      const url = URL.canParse(text) ? new URL(text) : undefined
      if (url === undefined || !/^https?:$/.test(url.protocol)) {
        return refuse("OTEL_EXPORTER_OTLP_ENDPOINT", "Expected an http or https URL")
      }
      url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`
      return Effect.succeedSome(url)
    }
  })
)

const decodeHeaders = Schema.decodeResult(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

const areLegal = (headers: Readonly<Record<string, string>>) =>
  Result.isSuccess(Result.try(() =>
    Object.entries(headers).forEach(([name, value]) => {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    })
  ))

const headers = Effect.flatMap(given("OTEL_EXPORTER_OTLP_HEADERS"), (setting) => {
  const decoded = decodeHeaders(Option.getOrElse(setting, () => "{}"))
  return Result.isSuccess(decoded) && areLegal(decoded.success)
    ? Effect.succeed(Redacted.make(decoded.success))
    : refuse("OTEL_EXPORTER_OTLP_HEADERS", "Expected a JSON object of header names and values")
})

const sampler = Effect.flatMap(given("OTEL_TRACES_SAMPLER"), (setting) => {
  const name = Option.getOrElse(setting, () => "parentbased_always_on")
  const found = SAMPLERS.find((sampler) => sampler === name)
  return found === undefined
    ? refuse("OTEL_TRACES_SAMPLER", `Expected one of ${SAMPLERS.join(", ")}`)
    : Effect.succeed(found)
})

const ratio = Effect.flatMap(given("OTEL_TRACES_SAMPLER_ARG"), (setting) => {
  const value = Number(Option.getOrElse(setting, () => "1"))
  return value >= 0 && value <= 1
    ? Effect.succeed(value)
    : refuse("OTEL_TRACES_SAMPLER_ARG", "Expected a number from 0 to 1")
})

const database = Effect.map(
  given("DATABASE_URL"),
  Option.flatMap((text) =>
    Option.map(Option.fromNullishOr(URL.parse(text)), ({ hostname, pathname, port }) => ({
      name: pathname.slice(1),
      host: hostname,
      port: Number(port || POSTGRES_PORT)
    }))
  )
)

/** OpenTelemetry's own reader ignores all of them where one is malformed. */
const areReadable = (text: string) =>
  text.split(",").every((pair) =>
    /^\s*[^\s=]+=/.test(pair) && Result.isSuccess(Result.try(() => decodeURIComponent(pair)))
  )

const checkResource = Effect.flatMap(
  given("OTEL_RESOURCE_ATTRIBUTES"),
  (setting) =>
    Option.isNone(setting) || areReadable(setting.value)
      ? Effect.void
      : refuse("OTEL_RESOURCE_ATTRIBUTES", "Expected a list of name=value pairs")
)

const SETTINGS = { url: endpoint, headers, sampler, ratio, database, resource: checkResource }

export const traceChecks = Object.values(SETTINGS)

export const traceSettings = Effect.gen(function*() {
  const isEnabled = yield* telemetryEnabled
  const settings = yield* Effect.all(SETTINGS)
  return Option.filter(Option.map(settings.url, (url): TraceSettings => ({ ...settings, url })), () => isEnabled)
})
