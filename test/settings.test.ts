import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer, Logger, Schema } from "effect"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { secretsLayer, settingsLayer } from "../src/layers/Settings.ts"

const COMPLETE = {
  DATABASE_URL: "postgres://127.0.0.1:1/none",
  JWT_SECRET: "j".repeat(32),
  ANALYTICS_SALT: "a".repeat(32),
  PAT_PEPPER: "p".repeat(32),
  GOOGLE_CLIENT_ID: "id",
  GOOGLE_CLIENT_SECRET: "secret"
}

const start = (settings: Readonly<Record<string, string>>) =>
  Effect.void.pipe(
    Effect.provide(settingsLayer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings)))))
  )

const refusal = (settings: Readonly<Record<string, string>>) =>
  Effect.map(Effect.flip(start(settings)), ({ message }) => message)

/** Runs the production program to its end. */
const production = (env: Readonly<Record<string, string>>) =>
  Effect.callback<{ readonly code: number | null; readonly output: string }>((resume) => {
    const main = join(import.meta.dirname, "../src/main.ts")
    const child = spawn(process.execPath, ["--disable-proto=delete", main], {
      env: { NODE_ENV: "production", PORT: "0", HOST: "127.0.0.1", ...env }
    })
    const chunks: Array<Buffer> = []
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.stderr.on("data", (chunk) => chunks.push(chunk))
    child.on("close", (code) => resume(Effect.succeed({ code, output: Buffer.concat(chunks).toString() })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** What starts that should not, or starts as something else. */
const WRONG: ReadonlyArray<readonly [name: string, value: string]> = [
  ["ADMIN_EMAILS", "canary"],
  ["ADMIN_EMAILS", "ada@example.com, canary@"],
  ["API_DOCS_ENABLED", "canary"],
  ["APP_URL", "canary"],
  ["BASE_URL", "canary.example.com"],
  ["BODY_MEMORY_BUDGET", "canary"],
  ["BASE_URL", "ftp://canary.example.com"],
  ["CORS_ORIGINS", "https://a.example.com, canary"],
  ["CORS_ORIGINS", "https://canary.example.com/"],
  ["DATABASE_POOL_SIZE", "0"],
  ["DATABASE_POOL_SIZE", "canary"],
  ["DATABASE_QUEUE_LENGTH", "-1"],
  ["DATABASE_QUEUE_TIMEOUT", "3 seconds"],
  ["DATABASE_WAIT", "canary"],
  ["ERASURE_SWEEP_INTERVAL", "0 seconds"],
  ["GOOGLE_ISSUER", "canary:443"],
  ["GRAFANA_URLS", "canary"],
  ["METRICS_ALLOWED_CIDRS", "10.0.0.0/8,canary"],
  ["METRICS_ENABLED", "canary"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "canary:4318"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "canary"],
  ["OTEL_RESOURCE_ATTRIBUTES", "canary=%zz"],
  ["OTEL_TRACES_SAMPLER", "canary"],
  ["OTEL_TRACES_SAMPLER_ARG", "canary"],
  ["OUTBOX_POLL_INTERVAL", "canary"],
  ["PAGES_ENABLED", "canary"],
  ["PASSWORD_MIN_STRENGTH", "canary"],
  ["PASSWORD_MIN_STRENGTH", "5"],
  ["PASSWORD_MIN_STRENGTH", "-1"],
  ["PASSWORD_MIN_STRENGTH", "1.5"],
  ["PORT", "canary"],
  ["PORT", "99999"],
  ["PROVIDER_SIGN_IN_ENABLED", "canary"],
  ["PURGE_SWEEP_INTERVAL", "-1 seconds"],
  ["RATE_LIMITS_ENABLED", "canary"],
  ["REDIS_URL", "canary"],
  ["ROUTING_ENGINE_TIMEOUT", "0 millis"],
  ["ROUTING_ENGINE_TIMEOUT", "40 seconds"],
  ["ROUTING_ENGINE_URL", "canary:8002"],
  ["SHUTDOWN_DRAIN_DELAY", "canary"],
  ["SIGNUP_ENABLED", "canary"],
  ["TELEMETRY_ENABLED", "canary"],
  ["TRUSTED_PROXIES", "canary"]
]

/** The only line of a refused start: its reason is a text, and there is no cause, with its stack, beside it. */
const LogLine = Schema.fromJsonString(Schema.Struct({
  timestamp: Schema.String,
  level: Schema.Literal("FATAL"),
  message: Schema.String,
  traceId: Schema.String,
  spanId: Schema.String,
  annotations: Schema.Struct({})
}))

const reasonOf = Effect.fnUntraced(function*(env: Readonly<Record<string, string>>) {
  const { code, output } = yield* production(env)
  assert.strictEqual(code, 1)
  return (yield* Schema.decodeEffect(LogLine, { onExcessProperty: "error" })(output.trim().split("\n").at(-1) ?? ""))
    .message
})

describe("a production start", () => {
  it.effect("is refused without its settings, and all that are missing are named at once", () =>
    Effect.gen(function*() {
      const message = yield* refusal({})
      for (const name of Object.keys(COMPLETE)) assert.include(message, `${name} is missing`)
      for (const name of Object.keys(COMPLETE)) {
        assert.strictEqual(yield* refusal({ ...COMPLETE, [name]: "" }), `${name} is missing`)
      }
    }))

  it.effect("is refused with a secret that is short, without telling it", () =>
    Effect.gen(function*() {
      for (const name of ["JWT_SECRET", "ANALYTICS_SALT", "PAT_PEPPER"]) {
        const message = yield* refusal({ ...COMPLETE, NODE_ENV: "production", [name]: "short-and-secret" })
        assert.strictEqual(message, `${name} is shorter than 32 characters`)
      }
      assert.strictEqual(
        yield* refusal({ ...COMPLETE, NODE_ENV: "production", JWT_SECRET: "short", PAT_PEPPER: "x" }),
        "JWT_SECRET is shorter than 32 characters; PAT_PEPPER is shorter than 32 characters"
      )
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(start(COMPLETE))))
      const { GOOGLE_CLIENT_ID: _id, GOOGLE_CLIENT_SECRET: _secret, ...withoutProvider } = COMPLETE
      assert.strictEqual(
        yield* refusal(withoutProvider),
        "GOOGLE_CLIENT_ID is missing; GOOGLE_CLIENT_SECRET is missing"
      )
      yield* start({ ...withoutProvider, PROVIDER_SIGN_IN_ENABLED: "false" })
      assert.include(
        yield* refusal({ ...COMPLETE, NODE_ENV: "production", RATE_LIMITS_ENABLED: "false" }),
        "RATE_LIMITS_ENABLED"
      )
    }))

  it.effect(
    "is refused with a setting that cannot be understood, which is named and not told",
    () =>
      Effect.gen(function*() {
        assert.strictEqual(
          yield* refusal({ ...COMPLETE, DATABASE_URL: "mysql://canary" }),
          "DATABASE_URL is not a postgres URL (for example DATABASE_URL=postgres://user:password@localhost:5432/routes)"
        )
        for (const [name, value] of WRONG) {
          const told = yield* refusal({ ...COMPLETE, [name]: value })
          assert.include(told, name, value)
          assert.notInclude(told, "canary", name)
        }
        const told = yield* refusal({
          ...COMPLETE,
          PORT: "canary",
          CORS_ORIGINS: "canary",
          IMPORT_DISK_BUDGET: "canary"
        })
        for (const example of ["PORT=3000", "IMPORT_DISK_BUDGET=2 GiB", "CORS_ORIGINS=https://app.example.com"]) {
          assert.include(told, `(for example ${example})`)
        }
      }),
    60_000
  )

  it.live(
    "ends with 1 and one line of JSON with the reason as its message, without a stack",
    () =>
      Effect.gen(function*() {
        const settings = [{ JWT_SECRET: "short" }, { ...COMPLETE, LOG_FORMAT: "xml" }, {
          ...COMPLETE,
          WORKERS: "canary"
        }]
        assert.deepStrictEqual(yield* Effect.forEach(settings, reasonOf, { concurrency: 3 }), [
          "DATABASE_URL is missing; JWT_SECRET is shorter than 32 characters; ANALYTICS_SALT is missing; "
          + "PAT_PEPPER is missing; GOOGLE_CLIENT_ID is missing; GOOGLE_CLIENT_SECRET is missing",
          "LOG_FORMAT must be one of json, pretty",
          "WORKERS: Expected a finite number (for example WORKERS=2)"
        ])
      }),
    60_000
  )

  it.live(
    "ends with 1 and says so in one line when the database does not come up in time",
    () =>
      Effect.gen(function*() {
        const reason = yield* reasonOf({
          ...COMPLETE,
          PORT: "0",
          DATABASE_URL: "postgres://service:canary@127.0.0.1:1/none",
          DATABASE_WAIT: "300 millis"
        })
        assert.match(
          reason,
          /^The database was not reachable within 300ms: see that it runs .*connect ECONNREFUSED 127.0.0.1:1$/
        )
        assert.notInclude(reason, "canary")
      }),
    20_000
  )
})

describe("a start outside production", () => {
  it.effect("takes short secrets, with a warning that names them and not their values", () =>
    Effect.gen(function*() {
      const warnings: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => void warnings.push(`${logLevel} ${String(message)}`))
      for (const NODE_ENV of ["development", "test", undefined]) {
        for (const layer of [settingsLayer, secretsLayer]) {
          const settings = { ...COMPLETE, ...NODE_ENV === undefined ? {} : { NODE_ENV }, JWT_SECRET: "canary" }
          yield* Effect.void.pipe(
            Effect.provide(layer.pipe(
              Layer.provide([
                ConfigProvider.layer(ConfigProvider.fromUnknown(settings)),
                Logger.layer([logger])
              ])
            ))
          )
        }
      }
      assert.deepStrictEqual(
        warnings,
        Array.from({ length: 6 }, () =>
          "Warn JWT_SECRET is shorter than 32 characters: production refuses to start with it")
      )
    }))
})
