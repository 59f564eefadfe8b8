import { assert, describe, it } from "@effect/vitest"
import { Config, ConfigProvider, Duration, Effect, Exit, Layer, Logger, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { generatedSecrets } from "../../development/DevelopmentSecrets.ts"
import { awaitDatabase, databaseLive } from "../../src/layers/Database.ts"
import { problemOf, refusalOf, secretsLayer, settingsLayer } from "../../src/layers/Settings.ts"
import { EnvironmentNames } from "../../src/layers/SettingWarnings.ts"
import { registry, settings } from "../../src/services/operations/SettingsRegistry.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { listening } from "../support/Listening.ts"
import { runProgram } from "../support/Programs.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"

const COMPLETE = {
  DATABASE_URL: "postgres://127.0.0.1:1/none",
  JWT_SECRET: "j".repeat(32),
  ANALYTICS_SALT: "a".repeat(32),
  PAT_PEPPER: "p".repeat(32),
  GOOGLE_CLIENT_ID: "id",
  GOOGLE_CLIENT_SECRET: "secret"
}

/** These settings need each other. */
const PROVIDER = { OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "id", OIDC_CLIENT_SECRET: "secret" }

const configured = (settings: Readonly<Record<string, string>>) =>
  ConfigProvider.layer(ConfigProvider.fromUnknown(settings))

const start = (settings: Readonly<Record<string, string>>) =>
  Effect.void.pipe(Effect.provide(Layer.provide(settingsLayer, configured(settings))))

const refusal = (settings: Readonly<Record<string, string>>) =>
  Effect.map(Effect.flip(start(settings)), ({ message }) => message)

/** Returns what a start with these settings warns of. */
const warningsOf = Effect.fnUntraced(function*<E>(
  layer: Layer.Layer<never, E>,
  settings: Readonly<Record<string, string>>
) {
  const warnings: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void warnings.push(`${logLevel} ${String(message)}`))
  yield* Effect.void.pipe(Effect.provide(layer.pipe(Layer.provide([configured(settings), Logger.layer([logger])]))))
  return warnings
})

/** Any text is right, or none is required of it. */
const FREE = new Set([
  "JWT_SECRET",
  "ANALYTICS_SALT",
  "PAT_PEPPER",
  "GOOGLE_CLIENT_ID",
  "GOOGLE_CLIENT_SECRET",
  "OIDC_CLIENT_ID",
  "OIDC_CLIENT_SECRET",
  "OIDC_NAME",
  "HOST",
  "EMAIL_API_KEY",
  "OTEL_SERVICE_NAME",
  "SITE_NAME",
  "NODE_ENV",
  "SOURCE_COMMIT"
])

const OF_THE_SERVICE = registry.filter(({ isForDevelopment }) => !isForDevelopment)

/** A start with one of these is refused: it should not start, or would start as something else. */
const WRONG: ReadonlyArray<readonly [name: string, value: string]> = [
  ...OF_THE_SERVICE.filter(({ name }) => !FREE.has(name)).map(({ name }) => [name, "canary"] as const),
  ["ADMIN_EMAILS", "ada@example.com, canary@"],
  ["APP_URL", "https://app.example.com/#/canary"],
  ["APP_URL", "https://canary@app.example.com"],
  ["BASE_URL", "ftp://canary.example.com"],
  ["BASE_URL", "https://staff:canary@routes.example.com"],
  ["CORS_ORIGINS", "https://a.example.com, canary"],
  ["CORS_ORIGINS", "https://canary.example.com/"],
  ["DATABASE_LISTEN_URL", "postgres://canary,127.0.0.1/routes"],
  ["DATABASE_LISTEN_URL", "postgres://ada:100%canary@127.0.0.1/routes"],
  ["DATABASE_POOL_SIZE", "0"],
  ["DATABASE_QUEUE_LENGTH", "-1"],
  ["DATABASE_QUEUE_TIMEOUT", "3 seconds"],
  ["DATABASE_READ_MAX_LAG", "2 minutes"],
  ["DATABASE_READ_URL", "postgres://canary@127.0.0.1/routes,mysql://canary"],
  ["DATABASE_READ_URL", "postgres://127.0.0.1/routes,postgres://ada:100%canary@127.0.0.1/routes"],
  ["DATABASE_READ_URL", "postgres://canary,127.0.0.1/routes"],
  ["DATABASE_URL", "postgres:canary@127.0.0.1"],
  ["DATABASE_URL", "postgres://ada:100%canary@127.0.0.1/routes"],
  ["EMAIL_API_KEY", "canary\n"],
  ["EMAIL_API_KEY", "kéy€ canary"],
  ["EMAIL_FROM", "Routes <canary@example.com>\nBcc: all@example.com"],
  ["ERASURE_SWEEP_INTERVAL", "0 seconds"],
  ["GOOGLE_ISSUER", "canary:443"],
  ["MAX_CONNECTIONS", "0"],
  ["MAP_STYLE_URL", "https://staff:canary@maps.example.com/style.json"],
  ["MAX_ROUTES_PER_USER", "0"],
  ["METRICS_ALLOWED_CIDRS", "10.0.0.0/8,canary"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "canary:4318"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://canary"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/?key=canary"],
  ["OTEL_EXPORTER_OTLP_HEADERS", `{"a b":"canary"}`],
  ["OTEL_EXPORTER_OTLP_HEADERS", `{"authorization": canary}`],
  ["OTEL_EXPORTER_OTLP_HEADERS", JSON.stringify({ a: "canary\r\nx: y" })],
  ["OTEL_RESOURCE_ATTRIBUTES", "canary=%zz"],
  ["OTEL_TRACES_SAMPLER_ARG", "1.5 canary"],
  ["PASSWORD_MIN_STRENGTH", "5"],
  ["PASSWORD_MIN_STRENGTH", "-1"],
  ["PASSWORD_MIN_STRENGTH", "1.5"],
  ["PORT", "99999"],
  ["PURGE_SWEEP_INTERVAL", "-1 seconds"],
  ["ROUTING_ENGINE_TIMEOUT", "0 millis"],
  ["ROUTING_ENGINE_TIMEOUT", "40 seconds"],
  ["ROUTING_ENGINE_URL", "canary:8002"],
  ["ROUTING_ENGINE_URL", "http://127.0.0.1:8002/?key=canary"],
  ["SHUTDOWN_DRAIN_DELAY", "-5 seconds"],
  ["SHUTDOWN_DRAIN_DELAY", "30 days"],
  ["SHUTDOWN_DRAIN_DELAY", "Infinity"],
  ["SITE_COLOR", "#8ec5ff"],
  ["SITE_LOGO_URL", "http://canary.example.com/logo.svg"],
  ["SITE_LOGO_URL", "https://staff:canary@club.example.com/logo.svg"],
  ["SITE_NAME", "canary\nof two lines"],
  ["SITE_NAME", " "],
  ["SMTP_URL", "smtp://ada:100%canary@mail.example.com"],
  ["WORKERS", "1"]
]

/** A refused start has this line only: its reason is a text, and there is no cause, with its stack, beside it. */
const LogLine = Schema.fromJsonString(Schema.Struct({
  timestamp: Schema.String,
  level: Schema.Literal("FATAL"),
  message: Schema.String,
  traceId: Schema.String,
  spanId: Schema.String,
  annotations: Schema.Struct({})
}))

const reasonOf = Effect.fnUntraced(function*(env: Readonly<Record<string, string>>) {
  const { code, output } = yield* runProgram("src/main.ts", { NODE_ENV: "production", ...env })
  assert.strictEqual(code, 1)
  return (yield* Schema.decodeEffect(LogLine, { onExcessProperty: "error" })(output.trim().split("\n").at(-1) ?? ""))
    .message
})

/** Returns what a process with a layer that cannot be built says at its end. */
const reasonOfLayer = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.void.pipe(Effect.provide(layer), Effect.sandbox, Effect.flip, Effect.map(refusalOf))

describe("a production start", () => {
  it.effect("is refused without its settings, and all that are missing are named at once", () =>
    Effect.gen(function*() {
      const message = yield* refusal({})
      for (const name of Object.keys(COMPLETE)) assert.include(message, `${name} is missing`)
      for (const name of Object.keys(COMPLETE)) {
        assert.strictEqual(yield* refusal({ ...COMPLETE, [name]: "" }), `${name} is missing`)
      }
    }))

  it.effect("is refused with what is misspelt beside what is missing", () =>
    Effect.gen(function*() {
      const misspelt = refusal({ ...COMPLETE, JWT_SECRET: "" }).pipe(
        Effect.provideService(EnvironmentNames, ["JWT_SECRTE", "HOME"])
      )
      assert.strictEqual(
        yield* misspelt,
        "JWT_SECRET is missing; JWT_SECRTE is no setting: did you mean JWT_SECRET?"
      )
    }))

  it.effect("is refused with a part of an OpenID Connect provider, and needs no other where it has a whole one", () =>
    Effect.gen(function*() {
      const { GOOGLE_CLIENT_ID: _id, GOOGLE_CLIENT_SECRET: _secret, ...rest } = COMPLETE
      const club = { CLUB_ISSUER: "https://id.example.com/realms/club", CLUB_CLIENT_ID: "id", CLUB_CLIENT_SECRET: "x" }
      yield* start({ ...rest, OIDC_PREFIXES: "CLUB", ...club })
      assert.strictEqual(
        yield* refusal({ ...rest, OIDC_ISSUER: "https://id.example.com" }),
        "OIDC_CLIENT_ID is missing; OIDC_CLIENT_SECRET is missing"
      )
      assert.match(yield* refusal({ ...COMPLETE, OIDC_NAME: "The club" }), /^OIDC_ISSUER is missing; /)
      assert.strictEqual(
        yield* refusal({ ...rest, OIDC_PREFIXES: "CLUB,CREW", ...club }),
        "CREW_ISSUER is missing; CREW_CLIENT_ID is missing; CREW_CLIENT_SECRET is missing"
      )
      const malformed = yield* refusal({ ...rest, OIDC_PREFIXES: "CLUB", ...club, CLUB_ISSUER: "canary:443" })
      assert.match(malformed, /^CLUB_ISSUER: /)
      assert.notInclude(malformed, "canary")
      yield* start({ ...rest, PROVIDER_SIGN_IN_ENABLED: "false", OIDC_PREFIXES: "CREW" })
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
          "DATABASE_URL: Expected a postgres or postgresql URL, percent-encoded (for example DATABASE_URL=postgres://user:password@localhost:5432/routes)"
        )
        assert.include(
          yield* refusal({ ...COMPLETE, DATABASE_URL: "postgres:canary@127.0.0.1" }),
          "Expected a postgres or postgresql URL"
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
      })
  )

  it.effect("takes the example of every setting", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(Object.keys(settings), registry.map(({ name }) => name))
      for (const { example, name } of OF_THE_SERVICE) {
        // The message for a log setting lists all of its values.
        if (example === undefined) assert.isTrue(FREE.has(name) || name.startsWith("LOG_"), name)
        else yield* start({ ...COMPLETE, ...PROVIDER, [name]: example })
      }
    }))

  it.effect("is refused with one message that names all that are missing or cannot be understood", () =>
    Effect.gen(function*() {
      const told = yield* refusal({ ...COMPLETE, ...Object.fromEntries(WRONG), JWT_SECRET: "", DATABASE_URL: "canary" })
      const named = told.split("; ").map((problem) => /^[A-Z_]+/.exec(problem)?.[0])
      const wrong = new Set([...WRONG.map(([name]) => name), "JWT_SECRET", "DATABASE_URL"])
      assert.deepStrictEqual([...new Set(named)].toSorted(), [...wrong].toSorted())
      assert.notInclude(told, "canary")
      assert.strictEqual(
        yield* refusal({ ...COMPLETE, PAT_PEPPER: "", EMAIL_API_KEY: "key", SMTP_URL: "mail" }),
        "PAT_PEPPER is missing; SMTP_URL: Expected a valid URL string "
          + "(for example SMTP_URL=smtp://user:password@mail.example.com:587); EMAIL_API_KEY and SMTP_URL are both set: set one of them"
      )
    }))

  it.live(
    "ends with 1 and one line of JSON with the reason as its message, without a stack",
    () =>
      Effect.gen(function*() {
        const production = { ...COMPLETE, NODE_ENV: "production" }
        assert.deepStrictEqual(
          yield* Effect.forEach([
            { NODE_ENV: "production", JWT_SECRET: "short" },
            { ...production, LOG_FORMAT: "xml" },
            { ...production, WORKERS: "canary" }
          ], refusal),
          [
            "DATABASE_URL is missing; JWT_SECRET is shorter than 32 characters; ANALYTICS_SALT is missing; "
            + "PAT_PEPPER is missing; GOOGLE_CLIENT_ID is missing; GOOGLE_CLIENT_SECRET is missing",
            "LOG_FORMAT: Expected one of json, pretty",
            "WORKERS is no setting any more: start replicas instead, see Replicas in docs/operations.md"
          ]
        )
        assert.strictEqual(
          yield* reasonOf({
            ...COMPLETE,
            PAT_PEPPER: "",
            LOG_LEVEL: "verbose",
            LOG_FORMAT: "xml",
            WORKERS: "1",
            PORT: "x"
          }),
          "PAT_PEPPER is missing; PORT: Expected a finite number (for example PORT=3000); "
            + "LOG_LEVEL: Expected one of all, fatal, error, warn, info, debug, trace, none; "
            + "LOG_FORMAT: Expected one of json, pretty; "
            + "WORKERS is no setting any more: start replicas instead, see Replicas in docs/operations.md"
        )
      })
  )

  it.live(
    "says so in one line when the database does not come up in time, or its host is unknown",
    () =>
      Effect.gen(function*() {
        const reasonWith = (server: string) =>
          reasonOfLayer(Layer.provide(
            databaseLive,
            configured({ DATABASE_URL: `postgres://service:canary@${server}/none`, DATABASE_WAIT: "300 millis" })
          ))
        const [refused, unknown] = yield* Effect.all([reasonWith("127.0.0.1:1"), reasonWith("nowhere.invalid")])
        const start = "The database was not reachable within 300ms: see that it runs and that DATABASE_URL is right"
        for (const reason of [refused, unknown]) {
          assert.include(reason, start)
          assert.notInclude(reason, "canary")
        }
        assert.match(refused, /connect ECONNREFUSED 127.0.0.1:1$/)
        // It is no address that the service listens on.
        assert.notInclude(unknown, "HOST")
      })
  )

  it.live(
    "ends with 1 and names PORT when another process listens there, before and after the database is there",
    () =>
      Effect.gen(function*() {
        const port = yield* listening(createServer())
        const PORT = String(port)
        const reasons = [
          yield* reasonOf({ ...COMPLETE, PORT }),
          yield* reasonOfLayer(TestServer.on(yield* clonedDatabase, { PORT }))
        ]
        const expected =
          `Port ${port} of 127.0.0.1 is in use: stop the process that listens there, or set PORT to another`
        assert.deepStrictEqual(reasons, [expected, expected])
      }).pipe(Effect.scoped)
  )
})

describe("a start outside production", () => {
  it.effect("names a setting that is missing", () =>
    Effect.gen(function*() {
      const settings = Config.all([Config.Redacted("DATABASE_URL"), Config.NonEmptyString("JWT_SECRET")])
      const given = ConfigProvider.fromUnknown({ DATABASE_URL: "" })
      const cause = yield* Effect.flip(Effect.sandbox(Effect.provide(settings, ConfigProvider.layer(given))))
      assert.match(refusalOf(cause), /^DATABASE_URL is missing \(for example DATABASE_URL=postgres:/)
    }))

  it.live(
    "ends with 1 and one line that names DATA_DIR where nothing can be written there",
    () =>
      Effect.gen(function*() {
        const { code, output } = yield* runProgram("development/dev.ts", { DATA_DIR: "/dev/null/x" })
        assert.strictEqual(code, 1)
        assert.match(
          output,
          /^\S+ FATAL DATA_DIR \/dev\/null\/x cannot be written \(ENOTDIR.*set DATA_DIR to another directory\n$/
        )
      })
  )

  it.effect("names DATABASE_URL where the database refuses to connect", () =>
    Effect.gen(function*() {
      const url = new URL(yield* clonedDatabase)
      url.pathname = "/nowhere"
      const refusal = Effect.flip(awaitDatabase([{ url: Redacted.make(url.href) }], Duration.seconds(10)))
      assert.match(
        problemOf(yield* refusal),
        /^The database refuses to connect: see that DATABASE_URL is right: .*"nowhere" does not exist$/
      )
    }).pipe(Effect.scoped))

  it.effect("names the file of its secrets where that is broken, and not what is in it", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const path = join(directory, "secrets.json")
      for (const text of ["canary", `{"JWT_SECRET":"canary"}`]) {
        yield* Effect.promise(() => writeFile(path, text))
        const { message } = yield* Effect.flip(generatedSecrets(directory))
        assert.strictEqual(
          message,
          `${path} is not a file of secrets: delete it to generate new ones`
        )
      }
    }).pipe(Effect.scoped, Effect.provide(SecureRandom.layerWebCrypto)))

  it.effect("takes short secrets, with a warning that names them and not their values", () =>
    Effect.gen(function*() {
      for (const NODE_ENV of ["development", "test", undefined]) {
        for (const layer of [settingsLayer, secretsLayer]) {
          const settings = { ...COMPLETE, ...NODE_ENV === undefined ? {} : { NODE_ENV }, JWT_SECRET: "canary" }
          assert.deepStrictEqual(yield* warningsOf(layer, settings), [
            "Warn JWT_SECRET is shorter than 32 characters: production refuses to start with it"
          ])
        }
      }
    }))
})
