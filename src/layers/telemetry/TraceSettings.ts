import { Config, Effect, Option, Redacted } from "effect"
import { settings } from "../../services/settings/Registry.ts"
import { hostsOf } from "../../services/settings/SettingTypes.ts"

const POSTGRES_PORT = 5432

const tracesOf = (endpoint: URL) => {
  const url = new URL(endpoint)
  url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`
  return url
}

const databaseOf = (url: Redacted.Redacted) => {
  const [first = ""] = hostsOf(Redacted.value(url))
  const { hostname, pathname, port } = new URL(first)
  return { name: pathname.slice(1), host: hostname, port: Number(port || POSTGRES_PORT) }
}

export const traceSettings = Effect.gen(function*() {
  const endpoint = yield* settings.OTEL_EXPORTER_OTLP_ENDPOINT
  if (Option.isNone(endpoint) || !(yield* settings.TELEMETRY_ENABLED)) return Option.none()
  return Option.some({
    url: tracesOf(endpoint.value),
    headers: Option.getOrElse(yield* settings.OTEL_EXPORTER_OTLP_HEADERS, () => Redacted.make({})),
    sampler: yield* settings.OTEL_TRACES_SAMPLER,
    ratio: yield* settings.OTEL_TRACES_SAMPLER_ARG,
    database: Option.map(yield* Config.option(settings.DATABASE_URL), databaseOf)
  })
})

export type TraceSettings = Option.Option.Value<Effect.Success<typeof traceSettings>>
