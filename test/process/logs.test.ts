import { assert, describe, it, layer } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Logger, References, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { closeSync, constants, openSync, readSync } from "node:fs"
import { join } from "node:path"
import { jsonLogger, logSettings, standardOutput } from "../../src/layers/Logging.ts"
import { problemOf } from "../../src/layers/Settings.ts"
import { anonymous, signedUp, withHeaders } from "../support/Actors.ts"
import { newRoute, shareTokenOf } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { until, untilFound } from "../support/Waiting.ts"

const TRACE = "0af7651916cd43dd8448eb211c80319c"

const Line = Schema.fromJsonString(Schema.Struct({
  timestamp: Schema.String,
  level: Schema.String,
  message: Schema.Unknown,
  traceId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{32}$/)),
  spanId: Schema.String.check(Schema.isPattern(/^[0-9a-f]{16}$/)),
  annotations: Schema.Record(Schema.String, Schema.Unknown),
  cause: Schema.optionalKey(Schema.String)
}))

const written: Array<string> = []

const recording = (level: "Info" | "Debug") =>
  Layer.merge(
    Logger.layer([Logger.map(jsonLogger, (line) => written.push(line))]),
    Layer.succeed(References.MinimumLogLevel, level)
  )

const lines = Effect.sync(() => written.map((line) => Schema.decodeSync(Line, { onExcessProperty: "error" })(line)))

const withoutTime = ({ annotations: { durationMs, ...rest }, level }: typeof Line.Type) => {
  assert.isAtLeast(Number(durationMs), 0)
  const line: Readonly<Record<string, unknown>> = { level, ...rest }
  return line
}

/** Returns the lines that some work has written of its requests, without what differs from run to run. */
const requestLines = Effect.fnUntraced(function*<A, E, R>(work: Effect.Effect<A, E, R>) {
  const before = written.length
  yield* work
  return (yield* lines).slice(before).filter(({ message }) => message === "request").map(withoutTime)
})

layer(
  TestServer.layer({ TRUSTED_PROXIES: "127.0.0.0/8" }).pipe(Layer.provideMerge(recording("Info")))
)("the log", (it) => {
  it.effect("has one line for each request, by its template and never its path", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const made = yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))
      const shareToken = shareTokenOf(made.body)
      const visitor = yield* anonymous
      const read = yield* visitor.get(`/routes/${shareToken}`)
      const file = yield* visitor.get(`/routes/${shareToken}/gpx`)
      const route = "/api/v1/routes/{ref}"
      const client = "127.0.0.0/24"
      assert.deepStrictEqual(
        yield* requestLines(Effect.all([
          visitor.get(`/routes/${shareToken}`),
          visitor.call("HEAD", `/routes/${shareToken}`),
          visitor.get(`/routes/${shareToken}/gpx`),
          visitor.get(`/canary/${shareToken}?a=canary`),
          visitor.get("//health"),
          visitor.get("//metrics")
        ])),
        [
          { level: "INFO", method: "GET", route, status: 200, bytes: Buffer.byteLength(read.text), client },
          { level: "INFO", method: "HEAD", route, status: 200, bytes: 0, client },
          {
            level: "INFO",
            method: "GET",
            route: `${route}/gpx`,
            status: 200,
            bytes: Buffer.byteLength(file.text),
            client
          },
          { level: "INFO", method: "GET", route: "unmatched", status: 404, bytes: 62, client, code: "NOT_FOUND" }
        ]
      )
      for (const secret of [shareToken, rider.email, rider.token, rider.password, "canary"]) {
        assert.notInclude(written.join("\n"), secret)
      }
    }))

  it.effect("has the trace of a trusted proxy in each line of a request, and ids of its own in all others", () =>
    Effect.gen(function*() {
      const before = written.length
      const caller = yield* withHeaders({ traceparent: `00-${TRACE}-b7ad6b7169203331-00` })
      yield* caller.get("/nowhere")
      // A line of other work may come between.
      const ofRequest = Effect.map(lines, (all) => all.slice(before).filter(({ traceId }) => traceId === TRACE))
      const [line] = yield* untilFound(ofRequest, ({ length }) => length > 0)
      assert.notStrictEqual(line?.spanId, "b7ad6b7169203331")
      yield* Effect.logInfo("outside").pipe(Effect.provide(recording("Info")))
      const [last] = (yield* lines).slice(-1)
      assert.notStrictEqual(last?.traceId, TRACE)
    }))
})

layer(TestServer.layer({ LOG_CLIENT_ADDRESS: "true" }).pipe(Layer.provideMerge(recording("Debug"))))(
  "the log at debug",
  (it) => {
    it.effect("has a trace of its own in the lines of a caller that is no trusted proxy", () =>
      Effect.gen(function*() {
        const before = written.length
        const caller = yield* withHeaders({ traceparent: `00-${TRACE}-b7ad6b7169203331-01` })
        yield* caller.get("/nowhere")
        assert.isAbove(written.length, before)
        assert.notInclude(written.slice(before).join("\n"), TRACE)
      }))

    it.effect("has probes as well, and the address of the client where that is wanted", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        assert.deepStrictEqual(yield* requestLines(visitor.get("//health/live")), [
          { level: "DEBUG", method: "GET", route: "/health/live", status: 200, bytes: 15, client: "127.0.0.1" }
        ])
      }))
  }
)

const settingsOf = (settings: Readonly<Record<string, string>>) =>
  logSettings("json").pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings))))

describe("the settings of the log", () => {
  it.effect("are info and what the program has, or what is set", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* settingsOf({}), { level: "Info", format: "json" })
      assert.deepStrictEqual(yield* settingsOf({ LOG_LEVEL: "warn", LOG_FORMAT: "pretty" }), {
        level: "Warn",
        format: "pretty"
      })
      const message = problemOf(yield* Effect.flip(settingsOf({ LOG_LEVEL: "loud" })))
      assert.strictEqual(message, "LOG_LEVEL: Expected one of all, fatal, error, warn, info, debug, trace, none")
    }))
})

const readAll = (file: number) => {
  const buffer = Buffer.alloc(1 << 20)
  return Effect.sync(() => {
    try {
      return buffer.toString("utf8", 0, readSync(file, buffer))
    } catch {
      return ""
    }
  })
}

describe("standard output", () => {
  it.live("keeps lines whole and in order, and drops and counts those that a slow reader has no room for", () =>
    Effect.gen(function*() {
      const path = join(yield* temporaryDirectory, "pipe")
      execFileSync("mkfifo", [path])
      const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
      const output = yield* standardOutput(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK))
      const total = 10_000
      for (let n = 0; n < total; n++) output.write(`${n} ${"x".repeat(1000)}`)
      const parts: Array<string> = []
      const isOver = Effect.map(readAll(file), (part) => {
        parts.push(part)
        return parts.slice(-2).join("").includes("dropped")
      })
      yield* until(isOver, Duration.millis(1))
      const read = parts.join("").trimEnd().split("\n")
      const kept = read.slice(0, -1)
      assert.isTrue(kept.every((line, n) => line === `${n} ${"x".repeat(1000)}`))
      assert.deepInclude(JSON.parse(read.at(-1) ?? ""), { level: "WARN", count: total - kept.length })
      assert.isAbove(kept.length, 4000)
      // The output closes a file without a reader: it would write to it later, when its number may be a socket of the
      // next test.
      closeSync(file)
      output.write("a line")
      yield* output.drained
    }).pipe(Effect.scoped))

  it.live("goes on without a reader", () =>
    Effect.gen(function*() {
      // The output closes a file that it cannot write: closed twice, it may be a socket of the next test by then.
      const output = yield* standardOutput(openSync("/dev/full", "w"))
      output.write("a line")
      yield* output.drained
      output.write("another")
      yield* output.drained
    }).pipe(Effect.scoped))
})
