import { assert, it } from "@effect/vitest"
import { type Config, ConfigProvider, Duration, Effect, Result } from "effect"
import { IpNetwork } from "effect/net"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { checkDatabaseUrl, hostsOf } from "../../src/schema/DatabaseUrls.ts"
import { registry, settings } from "../../src/services/operations/SettingsRegistry.ts"
import {
  byteSize,
  color,
  fetchedPort,
  httpRoot,
  logo,
  period,
  prefixes,
  ratio,
  redisUrl,
  siteName,
  smtpUrl
} from "../../src/services/operations/SettingTypes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"

const parsed = (config: Config.Config<unknown>, given: Readonly<Record<string, string>>) =>
  Effect.result(config.parse(ConfigProvider.fromUnknown(given)))

const areAccepted = (type: (name: string) => Config.Config<unknown>, texts: ReadonlyArray<string>) =>
  Effect.filter(texts, (text) => Effect.map(parsed(type("SETTING"), { SETTING: text }), Result.isSuccess))

const refusalOf = (type: (name: string) => Config.Config<unknown>, text: string) =>
  Effect.map(
    parsed(type("SETTING"), { SETTING: text }),
    (result) => Result.isFailure(result) ? result.failure.message : ""
  )

const isAccepted = (port: number) =>
  Effect.map(
    Effect.result(fetchedPort("PORT").parse(ConfigProvider.fromUnknown({ PORT: String(port) }))),
    Result.isSuccess
  )

const fetchFailure = (port: number) =>
  Effect.promise(() => fetch(`http://127.0.0.1:${port}`).then(() => undefined, (error: Error) => String(error.cause)))

it.effect("a port that is fetched is none of those that fetch refuses without a connection", () =>
  Effect.gen(function*() {
    const ports = Array.from({ length: 65_536 }, (_, port) => port)
    const refused = yield* Effect.filter(ports, (port) => Effect.map(isAccepted(port), (accepted) => !accepted))
    // The Fetch Standard blocks so many ports, without port 0, which takes any free one here.
    assert.strictEqual(refused.length, 82)
    for (const port of refused) assert.strictEqual(yield* fetchFailure(port), "Error: bad port", `port ${port}`)
    assert.isFalse(yield* isAccepted(65_536))
    assert.isFalse(yield* isAccepted(-1))
  }))

it("an address of a database has one host or several, with one port for each or for all", () => {
  assert.deepStrictEqual(hostsOf("postgres://u:p@a:5433/name?sslmode=require"), [
    "postgres://u:p@a:5433/name?sslmode=require"
  ])
  assert.deepStrictEqual(hostsOf("postgresql://u:p@a:5433,[::1],c/name?target_session_attrs=any"), [
    "postgresql://u:p@a:5433/name?target_session_attrs=any",
    "postgresql://u:p@[::1]/name?target_session_attrs=any",
    "postgresql://u:p@c/name?target_session_attrs=any"
  ])
  assert.deepStrictEqual(hostsOf("postgres:///name?host=a,b&port=1,2"), [
    "postgres:///name?host=a&port=1",
    "postgres:///name?host=b&port=2"
  ])
  assert.deepStrictEqual(hostsOf("postgres:///name?host=a,b&port=1"), [
    "postgres:///name?host=a&port=1",
    "postgres:///name?host=b&port=1"
  ])
})

it("an address of a database is refused where it is none, or asks for a standby", () => {
  assert.isUndefined(checkDatabaseUrl("postgres://u:p@a,b/name?target_session_attrs=read-write"))
  assert.isUndefined(checkDatabaseUrl("postgres:///name?host=/run/postgresql"))
  assert.isUndefined(checkDatabaseUrl("postgres://u:p%25@a/name?password=p%"))
  assert.strictEqual(checkDatabaseUrl("mysql://a/name"), "Expected a postgres or postgresql URL, percent-encoded")
  assert.strictEqual(
    checkDatabaseUrl("postgres://a:x,b/name"),
    "Expected a postgres or postgresql URL, percent-encoded"
  )
  assert.strictEqual(
    checkDatabaseUrl("postgres://a,b/name?target_session_attrs=standby"),
    "Expected target_session_attrs to be one of any, read-write, primary"
  )
  assert.isUndefined(checkDatabaseUrl("postgres://a,b/name?sslmode=verify-full"))
  for (const wrong of ["bogus", "", "require&sslmode=bogus"]) {
    assert.strictEqual(
      checkDatabaseUrl(`postgres://a,b/name?sslmode=${wrong}`),
      "Expected sslmode to be one of disable, allow, prefer, require, verify-ca, verify-full"
    )
  }
})

/** WCAG 2.2, "relative luminance" and "contrast ratio". */
const contrast = (one: string, other: string) => {
  const [dark = 0, light = 0] = [one, other].map((hex) => {
    const [red = 0, green = 0, blue = 0] = hex.slice(1).match(/../g)?.map((part) => {
      const value = Number(`0x${part}`) / 0xff
      return value > 0.040_45 ? Math.pow((value + 0.055) / 1.055, 2.4) : value / 12.92
    }) ?? []
    return red * 0.2126 + green * 0.7152 + blue * 0.0722
  }).toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

it.effect("a colour has a contrast of 4.5 with a light page, or the message has the one that it has", () =>
  Effect.gen(function*() {
    const parts = Array.from({ length: 86 }, (_, third) => (3 * third).toString(16).padStart(2, "0"))
    const colors = parts.flatMap((part) => [`#${part}${part}${part}`, `#${part}0000`, `#00${part}00`, `#8080${part}`])
    for (const text of colors) {
      const exact = contrast(text, "#eef5fc")
      const refusal = yield* refusalOf(color, text)
      if (exact >= 4.5) assert.strictEqual(refusal, "", text)
      else {
        assert.include(
          refusal,
          `Expected a darker colour: its contrast with a light page is ${String(exact + 1e-9).slice(0, 3)}, `
            + "and 4.5 or more can be read (WCAG 2.2, 1.4.3)",
          text
        )
      }
    }
    assert.deepStrictEqual(yield* areAccepted(color, ["#0b5ca", "#0b5cadd", "0b5cad", "#0b5cag", "#0B5CAD"]), [
      "#0B5CAD"
    ])
  }))

it.effect("a colour has the least light variant in twentieths that can be read on a dark page", () =>
  Effect.gen(function*() {
    const variants = [
      ["#000000", "#999999"],
      ["#0B5CAD", "#6095ca"],
      ["#7a1f5c", "#b684a5"],
      ["#b3261e", "#d17d78"],
      ["#006400", "#66a266"],
      ["#0000ff", "#8080ff"],
      ["#6c6c6c", "#919191"]
    ] as const
    for (const [light, dark] of variants) {
      const made = yield* color("COLOR").parse(ConfigProvider.fromUnknown({ COLOR: light }))
      assert.deepStrictEqual(made, { light: light.toLowerCase(), dark })
      assert.isAtLeast(contrast(dark, "#1d2733"), 4.5)
    }
  }))

it.effect("a setting is accepted up to its bounds, and refused with them beyond", () =>
  Effect.gen(function*() {
    const x = (length: number) => "X".repeat(length)
    const cases: ReadonlyArray<
      readonly [
        type: (name: string) => Config.Config<unknown>,
        accepted: ReadonlyArray<string>,
        refused: ReadonlyArray<string>,
        expected: string
      ]
    > = [
      [ratio, ["0", "0.25", "1"], ["-0.01", "1.01", "2", "half"], "Expected a number from 0 to 1"],
      [byteSize, ["1 B", "9007199254740991 B"], ["0 B", "9007199254740992 B"], "a size as in 2 GiB"],
      [siteName, ["x", x(60)], [x(61), "a\nb", " ", "\u00a0 "], "Expected a name of 1 to 60 characters in one line"],
      [prefixes, ["C", x(30), "OIDC,CLUB_2"], [x(31), "2C", "_C", "oidc"], "Expected a prefix as in OIDC or CLUB_2"],
      [
        period(),
        ["10 millis", "7 days"],
        ["9 millis", "604800001 millis", "0 seconds"],
        "Expected 10 millis to 7 days"
      ],
      [period(Duration.seconds(2)), ["2 seconds"], ["2001 millis"], "Expected 10 millis to 2 seconds"],
      [
        redisUrl,
        ["redis://a", "rediss://a:6380/1", "redis://:p%25ss@a/", "redis://b:c@a"],
        ["http://a", "redis:// a", "redis://:p%ss@a", "redis://p%ss@a", "redis://a/limits", "redis://a/0/1"],
        "Expected a redis or rediss URL as in redis://:password@cache.example.com:6379/0, percent-encoded"
      ],
      [httpRoot, ["http://a/b"], ["http://a/?b=1", "http://a/#b"], "without a query and a fragment"],
      [
        smtpUrl,
        ["smtp://a", "smtps://a:465/", "smtp://u:p@a:587", "smtp://u@a", "smtp://u%40b:%20@a"],
        ["http://a", "smtp:///", "smtp://a/b", "smtp://a?b=1", "smtp://:p@a", "smtp://u:%zz@a", "smtp://%zz:p@a"],
        "Expected an SMTP server as in smtp://user:password@mail.example.com:587"
      ]
    ]
    for (const [type, accepted, refused, expected] of cases) {
      assert.deepStrictEqual(yield* areAccepted(type, [...accepted, ...refused]), accepted)
      for (const text of refused) assert.include(yield* refusalOf(type, text), expected, text)
    }
  }))

it.effect("a logo is at an https address, or a file of at most 256 KiB of a known type", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryDirectory
    const sizes = { "a.svg": 1, "b.png": 262_144, "c.webp": 262_144, "d.png": 262_145, "e.gif": 1, "svg": 1 }
    for (const [name, size] of Object.entries(sizes)) writeFileSync(join(folder, name), Buffer.alloc(size))
    mkdirSync(join(folder, "f.svg"))
    const files = [...Object.keys(sizes), "f.svg", "none.svg"].map((name) => join(folder, name))
    assert.deepStrictEqual(
      yield* areAccepted(logo, [...files, "https://a/b", "http://a/b.svg"]),
      [...files.slice(0, 3), "https://a/b"]
    )
    assert.include(
      yield* refusalOf(logo, files[3] ?? ""),
      "Expected an https URL without a user and a password, or the path of a file of at most 256 KiB that ends in .svg, .png or .webp"
    )
  }).pipe(Effect.scoped))

it.effect("each whole number and each time has its bounds", () =>
  Effect.gen(function*() {
    const bounds = [
      ["PORT", 0, 65_535],
      ["DATABASE_POOL_SIZE", 1, 1000],
      ["DATABASE_QUEUE_LENGTH", 0, 100_000],
      ["PASSWORD_MIN_STRENGTH", 0, 4],
      ["MAX_ROUTES_PER_USER", 1, 1_000_000],
      ["MAX_COLLECTIONS_PER_USER", 1, 1_000_000],
      ["MAX_RUNNING_REQUESTS", 1, 100_000],
      ["MAX_CONNECTIONS", 1, 1_000_000],
      ["DATABASE_QUEUE_TIMEOUT", 10, 2000, " millis"],
      ["DATABASE_READ_MAX_LAG", 10, 60_000, " millis"],
      ["DATABASE_WAIT", 10, 3_600_000, " millis"],
      ["ROUTING_ENGINE_TIMEOUT", 10, 25_000, " millis"],
      ["SHUTDOWN_DRAIN_DELAY", 0, 600_000, " millis"]
    ] as const
    for (const [name, least, most, unit = ""] of bounds) {
      const texts = [least - 1, least, most, most + 1].map((value) => `${value}${unit}`)
      const accepted = yield* Effect.filter(texts, (text) =>
        Effect.map(parsed(settings[name], { [name]: text }), Result.isSuccess))
      assert.deepStrictEqual(accepted, texts.slice(1, 3), name)
    }
  }))

it.effect("a process serves for 3 seconds after SIGTERM in production, and its metrics to private networks", () =>
  Effect.gen(function*() {
    const delayIn = (NODE_ENV: string) =>
      Effect.map(settings.SHUTDOWN_DRAIN_DELAY.parse(ConfigProvider.fromUnknown({ NODE_ENV })), Duration.toSeconds)
    assert.deepStrictEqual([yield* delayIn("production"), yield* delayIn("test")], [3, 0])
    const networks = yield* settings.METRICS_ALLOWED_CIDRS.parse(ConfigProvider.fromUnknown({}))
    const privateOnes = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]
    assert.deepStrictEqual(networks.map(String), privateOnes.map((text) => String(IpNetwork.fromStringUnsafe(text))))
    const example = registry.find(({ name }) => name === "METRICS_ALLOWED_CIDRS")?.example ?? ""
    assert.includeMembers(privateOnes, example.split(","))
  }))

it("the example of a database has the port of PostgreSQL, and two settings are not of the service", () => {
  const databases = registry.filter(({ example }) => example?.startsWith("postgres:"))
  assert.strictEqual(databases.length, 3)
  for (const { example, name } of databases) assert.include(example, ":5432/", name)
  assert.deepStrictEqual(registry.filter(({ isForDevelopment }) => isForDevelopment).map(({ name }) => name), [
    "DATA_DIR",
    "ENGINE_PORT"
  ])
})
