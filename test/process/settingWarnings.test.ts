import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, Schedule } from "effect"
import { createServer } from "node:http"
import { httpClientLive } from "../../src/layers/Live.ts"
import { EnvironmentNames, settingWarningsLayer } from "../../src/layers/SettingWarnings.ts"
import { Warnings } from "../../src/services/operations/Metrics.ts"
import { mapStyleLayer } from "../../src/services/pictures/MapStyle.ts"
import { listening } from "../support/Listening.ts"

const QUIET = { NODE_ENV: "production", BASE_URL: "https://routes.example.com", PASSWORD_MIN_STRENGTH: "2" }

/** Returns what a start with these settings warns of, once there are so many. */
const warningsOf = (settings: Readonly<Record<string, string>>, count: number, names = Object.keys(settings)) =>
  Effect.flatMap(
    Warnings,
    ({ all }) =>
      Effect.repeat(all, { until: (warnings) => warnings.length >= count, schedule: Schedule.spaced("10 millis") })
  ).pipe(
    Effect.provide(
      Layer.merge(settingWarningsLayer, mapStyleLayer).pipe(
        Layer.provideMerge(Warnings.layer),
        Layer.provide([
          httpClientLive,
          ConfigProvider.layer(ConfigProvider.fromUnknown(settings)),
          Layer.succeed(EnvironmentNames, names),
          Logger.layer([])
        ])
      )
    )
  )

describe("a start warns of", () => {
  it.effect("nothing where the settings are right", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* warningsOf(QUIET, 0, [...Object.keys(QUIET), "HOME", "PATH", "LANGUAGE"]), [])
    }))

  it.effect("a setting that is misspelt, with the one that was meant", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* warningsOf(QUIET, 2, ["SIGNUP_ENABLE", "DATABASE_POLSIZE"]), [
        "SIGNUP_ENABLE is no setting: did you mean SIGNUP_ENABLED?",
        "DATABASE_POLSIZE is no setting: did you mean DATABASE_POOL_SIZE?"
      ])
    }))

  it.effect("no setting of a provider that is like one of another", () =>
    Effect.gen(function*() {
      const names = ["ISSUER", "CLIENT_ID", "CLIENT_SECRET", "NAME"].map((name) => `OIDC2_${name}`)
      const two = { ...QUIET, OIDC_PREFIXES: "OIDC,OIDC2" }
      assert.deepStrictEqual(yield* warningsOf(two, 0, names), [])
      assert.lengthOf(yield* warningsOf(QUIET, 4, names), 4)
      assert.deepStrictEqual(yield* warningsOf(two, 1, ["OIDC2_ISUER"]), [
        "OIDC2_ISUER is no setting: did you mean OIDC_ISSUER?"
      ])
    }))

  it.effect("an address that leads nowhere, and one without TLS", () =>
    Effect.gen(function*() {
      assert.match(
        (yield* warningsOf({ ...QUIET, BASE_URL: "" }, 1)).join(),
        /^BASE_URL is http:\/\/localhost:3000: links/
      )
      assert.match(
        (yield* warningsOf({ ...QUIET, BASE_URL: "http://routes.example.com" }, 1)).join(),
        /^BASE_URL is http:\/\/routes.example.com: passwords and sessions/
      )
      assert.deepStrictEqual(yield* warningsOf({ ...QUIET, NODE_ENV: "test", BASE_URL: "" }, 0), [])
    }))

  it.effect("sign-ups with any password, unless an operator decided it", () =>
    Effect.gen(function*() {
      const open = { ...QUIET, PASSWORD_MIN_STRENGTH: "" }
      assert.match((yield* warningsOf(open, 1)).join(), /^PASSWORD_MIN_STRENGTH not set, anyone may sign up/)
      for (const settings of [{ ...open, PASSWORD_MIN_STRENGTH: "0" }, { ...open, SIGNUP_ENABLED: "false" }]) {
        assert.deepStrictEqual(yield* warningsOf(settings, 0), [])
      }
    }))

  it.live("a map style that cannot be read", () =>
    Effect.gen(function*() {
      const style = createServer((request, response) =>
        request.url === "/style.json?key=secret" ? response.end(`{"version":7}`) : response.writeHead(404).end()
      )
      const origin = `http://127.0.0.1:${yield* listening(style)}`
      for (
        const path of [`${origin}/style.json?key=secret`, `${origin}/none?key=secret`, "http://127.0.0.1:1/?key=secret"]
      ) {
        const warnings = yield* warningsOf({ ...QUIET, BASE_URL: "http://routes.example.com", MAP_STYLE_URL: path }, 2)
        assert.match(
          warnings.join("\n"),
          /^MAP_STYLE_URL: no style of MapLibre can be read from 127\.0\.0\.1:\d+, for an error at 127/m
        )
        assert.notInclude(warnings.join(), "secret")
      }
    }).pipe(Effect.scoped))

  it.live("a map style whose sources no page can load, with their names", () =>
    Effect.gen(function*() {
      const style = createServer((_, response) =>
        response.end(JSON.stringify({
          version: 8,
          sources: {
            streets: { type: "vector", url: "mapbox://mapbox.streets?key=secret" },
            hills: { type: "raster", tiles: ["ftp://hills.example.com/{z}/{x}/{y}?key=secret"] },
            roads: { type: "vector", tiles: ["https://a.example.com;script-src/{z}/{x}/{y}"] },
            paths: { type: "raster", tiles: ["http://127.0.0.1:{ratio}/{z}/{x}/{y}?key=secret"] }
          }
        }))
      )
      const MAP_STYLE_URL = `http://127.0.0.1:${yield* listening(style)}/`
      const open = (yield* warningsOf({ ...QUIET, BASE_URL: "http://routes.example.com", MAP_STYLE_URL }, 2)).join("\n")
      assert.match(
        open,
        /^MAP_STYLE_URL: the style of 127\.0\.0\.1:\d+ is refused, since pages cannot load what it needs/m
      )
      assert.include(
        open,
        "from mapbox://mapbox.streets, ftp://hills.example.com, https://a.example.com;script-src, an address that is no URL: "
      )
      assert.notInclude(open, "secret")
      const [secure = ""] = yield* warningsOf({ ...QUIET, MAP_STYLE_URL }, 1)
      assert.include(secure, MAP_STYLE_URL.slice(0, -1))
      assert.include(secure, "expected https sources, glyphs and sprites")
    }).pipe(Effect.scoped))
})

describe("warnings", () => {
  const logged: Array<unknown> = []

  it.effect("are logged and listed once each, fifty at most", () =>
    Effect.gen(function*() {
      const { add, all } = yield* Warnings
      const given = Array.from({ length: 51 }, (_, n) => `warning ${n}`)
      yield* Effect.forEach([...given, ...given], add)
      assert.deepStrictEqual(yield* all, given.slice(0, 50))
      assert.lengthOf(logged, 50)
    }).pipe(Effect.provide([Warnings.layer, Logger.layer([Logger.make(({ message }) => logged.push(message))])])))
})
