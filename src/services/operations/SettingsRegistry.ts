import { Config, Duration, LogLevel, Option, Struct } from "effect"
import { IpNetwork } from "effect/net"
import { GrafanaUrls } from "../../schema/Admin.ts"
import { SERVICE_NAME, SERVICE_TITLE } from "../../schema/ServiceName.ts"
import {
  attributes,
  bearerKey,
  byteSize,
  color,
  databaseUrl,
  databaseUrls,
  derived,
  emails,
  fetchedPort,
  flag,
  headers,
  httpRoot,
  httpUrl,
  jsonOf,
  LANGUAGES,
  LOG_FORMATS,
  logo,
  networks,
  oneOf,
  optional,
  origins,
  period,
  prefixes,
  publicRoot,
  publicUrl,
  ratio,
  redisUrl,
  required,
  secret,
  sender,
  serverUrl,
  type Setting,
  setting,
  siteName,
  smtpUrl,
  text,
  whole
} from "./SettingTypes.ts"

export const GOOGLE = "https://accounts.google.com"

/** The settings of a single provider have this prefix. */
export const OIDC_PREFIX = "OIDC"

const nodeEnv = derived("NODE_ENV", text, "production", Config.succeed(""), {
  meaning: "set by `npm start` and the image"
})

export const isProduction = Config.map(nodeEnv.value, (environment) => environment === "production")

const port = setting("PORT", whole(0, 65_535), "3000", { meaning: "port to listen on; 0 takes any free one" })

const baseUrl = derived(
  "BASE_URL",
  publicRoot,
  "http://localhost:PORT",
  Config.map(port.value, (port) => new URL(`http://localhost:${port}`)),
  {
    meaning: "the service's own public address; `https` adds `Strict-Transport-Security`",
    example: "https://routes.example.com"
  }
)

/** These networks are loopback and private ones (RFC 1918, RFC 4193). */
const PRIVATE_NETWORKS = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
  .map(IpNetwork.fromStringUnsafe)

/** A front has this time to see that the process is not ready: three checks of one a second. */
const DRAIN_DELAY = Duration.seconds(3)

/** The timeout of the routing endpoints is 30 seconds, which would not count as a failure of the engine. */
const MAX_ENGINE_TIMEOUT = Duration.seconds(25)

export const oidcSettings = (prefix: string) => ({
  ISSUER: optional(`${prefix}_ISSUER`, httpUrl, {
    meaning:
      "an OpenID Connect provider that signs in by redirect, found by discovery; needs the next two. See Sign-in by redirect",
    example: "https://id.example.com/realms/club"
  }),
  CLIENT_ID: optional(`${prefix}_CLIENT_ID`, text, { meaning: "client at that provider" }),
  CLIENT_SECRET: optional(`${prefix}_CLIENT_SECRET`, secret, { meaning: "and its secret" }),
  NAME: optional(`${prefix}_NAME`, text, {
    meaning: "what people read where they choose a provider",
    example: "The club"
  }, "the host of the issuer")
})

const OIDC = oidcSettings(OIDC_PREFIX)

const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

const MAP_STYLES = ["openfreemap"] as const

/** The settings are in the order of docs/operations.md: accepted values, default, example and meaning. */
const DECLARED = {
  DATABASE_URL: required("DATABASE_URL", databaseUrl, {
    meaning:
      "PostgreSQL 15 or newer, `postgres://user:password@host:5432/name`; the role owns the database. Several hosts, `host1:5432,host2:5432`, and `target_session_attrs`: see A cluster",
    example: "postgres://user:password@localhost:5432/routes"
  }),
  DATABASE_LISTEN_URL: optional("DATABASE_LISTEN_URL", serverUrl, {
    meaning: "the same database past a pooler, for notifications of changes and migrations; see Poolers",
    example: "postgres://user:password@localhost:5432/routes"
  }),
  DATABASE_PREPARED_STATEMENTS: setting("DATABASE_PREPARED_STATEMENTS", flag, "true", {
    meaning: "`false` behind a pooler of transactions that does not keep prepared statements; see Poolers"
  }),
  DATABASE_POOL_SIZE: setting("DATABASE_POOL_SIZE", whole(1, 1000), "10", {
    meaning: "connections of each process at most"
  }),
  DATABASE_QUEUE_LENGTH: setting("DATABASE_QUEUE_LENGTH", whole(0, 100_000), "256", {
    meaning:
      "statements and transactions of each process that wait for a connection, at most; beyond that requests get 503 with `Retry-After`"
  }),
  DATABASE_QUEUE_TIMEOUT: setting("DATABASE_QUEUE_TIMEOUT", period(Duration.seconds(2)), "2 seconds", {
    meaning: "how long each of them waits, at most 2 seconds; then its request gets the same"
  }),
  DATABASE_WAIT: setting("DATABASE_WAIT", period(Duration.hours(1)), "60 seconds", {
    meaning: "how long a start waits for the database, at most 1 hour"
  }),
  DATABASE_READ_URL: optional("DATABASE_READ_URL", databaseUrls, {
    meaning: "read replicas of the database, comma separated; see Read replicas",
    example: "postgres://user:password@replica:5432/routes"
  }),
  DATABASE_READ_MAX_LAG: setting("DATABASE_READ_MAX_LAG", period(Duration.minutes(1)), "1 second", {
    meaning: "how far a replica may be behind; beyond that the primary serves, at most 1 minute"
  }),
  JWT_SECRET: required("JWT_SECRET", secret, {
    meaning:
      "signs sessions and cursors, encrypts pending mails, moves the cuts of privacy zones; 32 characters or more"
  }),
  ANALYTICS_SALT: required("ANALYTICS_SALT", secret, {
    meaning: "makes `idHash` of a user's id; 32 characters or more"
  }),
  PAT_PEPPER: required("PAT_PEPPER", secret, {
    meaning: "keys the digests of personal access tokens; 32 characters or more"
  }),
  PROVIDER_SIGN_IN_ENABLED: setting("PROVIDER_SIGN_IN_ENABLED", flag, "true", {
    meaning: "sign-in by identity providers; `false` makes it 403, and the settings of providers are not needed"
  }),
  OIDC_ISSUER: OIDC.ISSUER,
  OIDC_CLIENT_ID: OIDC.CLIENT_ID,
  OIDC_CLIENT_SECRET: OIDC.CLIENT_SECRET,
  OIDC_NAME: OIDC.NAME,
  OIDC_PREFIXES: setting("OIDC_PREFIXES", prefixes, OIDC_PREFIX, {
    meaning:
      "prefixes of these four settings, comma separated: with `CLUB,STAFF` they are `CLUB_ISSUER`, `STAFF_ISSUER` and so on"
  }),
  GOOGLE_CLIENT_ID: required("GOOGLE_CLIENT_ID", text, {
    meaning: "client at the identity provider of `POST /auth/google`; not needed with `OIDC_ISSUER`"
  }),
  GOOGLE_CLIENT_SECRET: required("GOOGLE_CLIENT_SECRET", secret, { meaning: "and its secret" }),
  GOOGLE_ISSUER: setting("GOOGLE_ISSUER", httpUrl, GOOGLE, {
    meaning: "another OpenID Connect issuer, found by discovery"
  }),
  SIGNUP_ENABLED: setting("SIGNUP_ENABLED", flag, "true", {
    meaning:
      "whether anyone may sign up; `false` makes sign-ups and first sign-ins by a provider 403; see Accounts by invitation"
  }),
  ADMIN_EMAILS: derived("ADMIN_EMAILS", emails, "none", Config.succeed([]), {
    meaning:
      "addresses of administrators, comma separated; each counts once its account has verified it. A to Z in any case, other characters as the account has them",
    example: "ada@example.com,grace@example.com"
  }),
  HOST: setting("HOST", text, "0.0.0.0", { meaning: "address to listen on" }),
  PORT: port,
  SHUTDOWN_DRAIN_DELAY: derived(
    "SHUTDOWN_DRAIN_DELAY",
    period(Duration.minutes(10), "0 seconds"),
    "3 seconds",
    Config.map(isProduction, (isProduction) => isProduction ? DRAIN_DELAY : Duration.zero),
    {
      meaning:
        "how long requests are still taken after SIGTERM, while `/health/ready` says 503, at most 10 minutes; none outside production",
      example: "3 seconds"
    }
  ),
  BASE_URL: baseUrl,
  APP_URL: derived("APP_URL", publicRoot, "BASE_URL", baseUrl.value, {
    meaning:
      "where mailed links point: another front end with the paths `/verify-email` and `/reset-password`; see Pages",
    example: "https://app.example.com"
  }),
  PAGES_ENABLED: setting("PAGES_ENABLED", flag, "true", {
    meaning:
      "the pages for people: the start page, those of an account, of mailed links and of shared routes; `false` makes them 404; see Pages"
  }),
  SITE_NAME: setting("SITE_NAME", siteName, SERVICE_TITLE, {
    meaning: "what people read as the name of the service, in pages, mails and the API document",
    example: "Velo Club Vaduz"
  }),
  SITE_LANGUAGE: setting("SITE_LANGUAGE", oneOf(LANGUAGES), "en", {
    meaning: "the language of pages and mails: `en` or `de`",
    example: "de"
  }),
  SITE_LOGO_URL: optional("SITE_LOGO_URL", logo, {
    meaning: "a logo beside the name: an https URL, or the path of an SVG, PNG or WebP file, which the service serves",
    example: "https://club.example.com/logo.svg"
  }),
  SITE_COLOR: setting("SITE_COLOR", color, "#0b5cad", {
    meaning:
      "the colour of links and buttons; a lighter one is made of it for dark pages. One that cannot be read is refused",
    example: "#7a1f5c"
  }),
  SITE_NOTICE_URL: optional("SITE_NOTICE_URL", publicUrl, {
    meaning:
      "your legal notice and privacy policy: each page leads to it at its foot, but for those embedded elsewhere",
    example: "https://club.example.com/legal"
  }),
  MAP_STYLE: optional("MAP_STYLE", oneOf(MAP_STYLES), {
    meaning: "`openfreemap`: pages of routes have a map of OpenFreeMap, by its terms; see Maps",
    example: "openfreemap"
  }),
  MAP_STYLE_URL: optional("MAP_STYLE_URL", publicUrl, {
    meaning: "or a style of MapLibre of one's own, in place of `MAP_STYLE`; see Maps",
    example: "https://maps.example.com/style.json"
  }),
  CORS_ORIGINS: derived("CORS_ORIGINS", origins, "none", Config.succeed([]), {
    meaning:
      "front ends on other origins that may send the session cookie, comma separated. Any origin may read what comes without a cookie, also with a bearer token",
    example: "https://app.example.com"
  }),
  TRUSTED_PROXIES: derived("TRUSTED_PROXIES", networks, "none", Config.succeed([]), {
    meaning: "networks of proxies whose `X-Forwarded-For` and `traceparent` are believed, CIDRs, comma separated",
    example: "10.0.0.0/8"
  }),
  PASSWORD_MIN_STRENGTH: optional("PASSWORD_MIN_STRENGTH", whole(0, 4), {
    meaning:
      "lowest zxcvbn score of a new password, 0 to 4; above 0 a password that contains its owner's name or email address is refused too. 2 is recommended",
    example: "2"
  }, "0"),
  EMAIL_API_KEY: optional("EMAIL_API_KEY", bearerKey, {
    meaning:
      "key of the mail provider, used by `npm run dev` too; without it and `SMTP_URL` mailed links go to standard output, as JSON objects where `LOG_FORMAT` is `json`"
  }),
  SMTP_URL: optional("SMTP_URL", smtpUrl, {
    meaning:
      "in place of `EMAIL_API_KEY` an SMTP server, `smtp://user:password@mail.example.com:587` (STARTTLS where it is offered, required with credentials unless the server is on loopback) or `smtps://` (465)",
    example: "smtp://user:password@mail.example.com:587"
  }),
  EMAIL_FROM: derived(
    "EMAIL_FROM",
    sender,
    "no-reply@ and the host of BASE_URL",
    Config.map(baseUrl.value, ({ hostname }) => `no-reply@${hostname}`),
    { meaning: "sender of mails", example: "no-reply@example.com" }
  ),
  EMAIL_API_URL: setting("EMAIL_API_URL", httpUrl, "https://api.resend.com/emails", {
    meaning: "another provider with Resend's API"
  }),
  OUTBOX_POLL_INTERVAL: setting("OUTBOX_POLL_INTERVAL", period(), "5 seconds", {
    meaning: "how soon mails of other processes are looked for; while there is none the delay doubles, up to 5 minutes"
  }),
  ROUTING_ENGINE_URL: setting("ROUTING_ENGINE_URL", httpRoot, "http://127.0.0.1:8002", {
    meaning: "Valhalla's HTTP API"
  }),
  ROUTING_ENGINE_TIMEOUT: setting("ROUTING_ENGINE_TIMEOUT", period(MAX_ENGINE_TIMEOUT), "10 seconds", {
    meaning: "how long the engine may take for a response, at most 25 seconds"
  }),
  REDIS_URL: optional("REDIS_URL", redisUrl, {
    meaning: "where several processes count rate limits together",
    example: "redis://localhost:6379"
  }),
  RATE_LIMITS_ENABLED: setting("RATE_LIMITS_ENABLED", flag, "true", {
    meaning: "`false` for load tests; refused in production"
  }),
  MAX_ROUTES_PER_USER: setting("MAX_ROUTES_PER_USER", whole(1, 1_000_000), "10000", {
    meaning: "routes of an account, including those in the trash"
  }),
  MAX_STORED_BYTES_PER_USER: setting("MAX_STORED_BYTES_PER_USER", byteSize, "1 GiB", {
    meaning: "bytes of its routes and of the responses kept for `Idempotency-Key`"
  }),
  MAX_COLLECTIONS_PER_USER: setting("MAX_COLLECTIONS_PER_USER", whole(1, 1_000_000), "1000", {
    meaning: "collections of an account, without those in the trash"
  }),
  MAX_RUNNING_REQUESTS: setting("MAX_RUNNING_REQUESTS", whole(1, 100_000), "256", {
    meaning:
      "requests that each process works on at once before it refuses more while its event loop is saturated; see Overload"
  }),
  MAX_CONNECTIONS: setting("MAX_CONNECTIONS", whole(1, 1_000_000), "10000", {
    meaning:
      "connections of clients that each process has at once, 1 to 1,000,000; Node closes those beyond it as soon as it accepts them; see Connections"
  }),
  BODY_MEMORY_BUDGET: setting("BODY_MEMORY_BUDGET", byteSize, "128 MiB", {
    meaning: "bytes of bodies over 64 KiB that each process has in memory at once; see Shares of memory"
  }),
  IMPORT_DISK_BUDGET: setting("IMPORT_DISK_BUDGET", byteSize, "2 GiB", {
    meaning:
      "bytes of uploaded archives, and of what is decoded of them, that each process has on the disk at once; should be 1.25 GiB or more"
  }),
  PICTURE_CACHE_BYTES: setting("PICTURE_CACHE_BYTES", byteSize, "32 MiB", {
    meaning: "bytes of routes' pictures that each process keeps in memory"
  }),
  ERASURE_SWEEP_INTERVAL: setting("ERASURE_SWEEP_INTERVAL", period(), "1 hour", {
    meaning:
      "the longest sleep of the sweep that erases accounts; it wakes when the next account is due; above 2 hours change the alert `ErasureLate` too"
  }),
  PURGE_SWEEP_INTERVAL: setting("PURGE_SWEEP_INTERVAL", period(), "1 hour", {
    meaning: "the longest sleep of the sweep that deletes expired rows; it wakes when the next row is due"
  }),
  LOG_LEVEL: setting("LOG_LEVEL", oneOf(LogLevel.values), "info", {
    meaning: "`all`, `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `none`",
    example: undefined
  }),
  LOG_FORMAT: optional("LOG_FORMAT", oneOf(LOG_FORMATS), {
    meaning: "or `pretty`, which is the default of `npm run dev`"
  }, "json"),
  LOG_CLIENT_ADDRESS: setting("LOG_CLIENT_ADDRESS", flag, "false", {
    meaning: "`true` writes the address of the client into the log, in place of its network (/24 of IPv4, /48 of IPv6)"
  }),
  TELEMETRY_ENABLED: setting("TELEMETRY_ENABLED", flag, "true", { meaning: "master switch of metrics and traces" }),
  METRICS_ENABLED: setting("METRICS_ENABLED", flag, "true", { meaning: "metrics; off, `/metrics` responds with 503" }),
  METRICS_ALLOWED_CIDRS: derived(
    "METRICS_ALLOWED_CIDRS",
    networks,
    "loopback and private",
    Config.succeed(PRIVATE_NETWORKS),
    {
      meaning: "networks that may read `/metrics`, comma separated; to others there is no such path",
      example: "10.0.0.0/8,127.0.0.0/8"
    }
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional("OTEL_EXPORTER_OTLP_ENDPOINT", httpRoot, {
    meaning: "collector of traces, OTLP over HTTP; `/v1/traces` is appended. Without it nothing is exported",
    example: "http://localhost:4318"
  }),
  OTEL_EXPORTER_OTLP_HEADERS: optional("OTEL_EXPORTER_OTLP_HEADERS", headers, {
    meaning: "a JSON object of headers for the collector",
    example: `{"authorization":"Bearer key"}`
  }),
  OTEL_SERVICE_NAME: setting("OTEL_SERVICE_NAME", text, SERVICE_NAME, { meaning: "name of the service in traces" }),
  OTEL_RESOURCE_ATTRIBUTES: optional("OTEL_RESOURCE_ATTRIBUTES", attributes, {
    meaning: "`name=value` pairs for the resource, comma separated",
    example: "deployment.environment=test"
  }),
  OTEL_TRACES_SAMPLER: setting("OTEL_TRACES_SAMPLER", oneOf(SAMPLERS), "parentbased_always_on", {
    meaning: "or `always_on`, `always_off`, `traceidratio`, `parentbased_always_off`, `parentbased_traceidratio`",
    example: "parentbased_traceidratio"
  }),
  OTEL_TRACES_SAMPLER_ARG: setting("OTEL_TRACES_SAMPLER_ARG", ratio, "1", {
    meaning: "the ratio of those that have one, 0 to 1",
    example: "0.1"
  }),
  API_DOCS_ENABLED: derived(
    "API_DOCS_ENABLED",
    flag,
    "false",
    Config.map(isProduction, (isProduction) => !isProduction),
    {
      meaning: "the interactive page at `/api`; on unless `NODE_ENV` is `production`",
      example: "true"
    }
  ),
  GRAFANA_URLS: setting("GRAFANA_URLS", jsonOf(GrafanaUrls), "{}", {
    meaning: "JSON object with `apiOverview`, `apiLatency`, `runtime`, shown to administrators",
    example: `{"apiOverview":"https://grafana.example.com/d/overview"}`
  }),
  NODE_ENV: nodeEnv,
  SOURCE_COMMIT: optional("SOURCE_COMMIT", text, {
    meaning: "commit that runs, for the log and `/metrics`: set by the image; without it that of the clone",
    example: "5f9cb5a1"
  }),
  DATA_DIR: setting("DATA_DIR", text, ".data", {
    meaning: "`npm run dev` only: where its database, secrets and mails are kept",
    isForDevelopment: true
  }),
  ENGINE_PORT: setting("ENGINE_PORT", fetchedPort, "8002", {
    meaning: "`npm run engine` only: where it listens; a port that `fetch` refuses, such as 4190, is an error",
    isForDevelopment: true
  })
}

export const registry: ReadonlyArray<Setting<unknown>> = Object.values(DECLARED)

interface ValueOf extends Struct.Lambda {
  <A>(setting: Setting<A>): Config.Config<A>
  readonly "~lambda.out": this["~lambda.in"] extends Setting<infer A> ? Config.Config<A> : never
}

export const settings = Struct.map(DECLARED, Struct.lambda<ValueOf>((setting) => setting.value))

const STYLE_URLS: Readonly<Record<typeof MAP_STYLES[number], string>> = {
  openfreemap: "https://tiles.openfreemap.org/styles/liberty"
}

export const mapStyleUrl = Config.map(
  Config.all({ chosen: settings.MAP_STYLE, given: settings.MAP_STYLE_URL }),
  ({ chosen, given }) => Option.orElse(given, () => Option.map(chosen, (style) => new URL(STYLE_URLS[style])))
)
