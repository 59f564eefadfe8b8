import { Effect, Schedule, Schema, type Scope } from "effect"
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { problemOf } from "../src/layers/Settings.ts"
import { freePort } from "./FreePort.ts"
import { makeDraft } from "./PostgresBinaries.ts"
import { engineEnvironment, engineProgram, madeOnce, outputOf, pythonOf } from "./RoutingEnginePackages.ts"
import { supervisedProcess } from "./SupervisedProcess.ts"

export class EngineError extends Schema.TaggedError<EngineError>()("EngineError", { message: Schema.String }) {}

interface RunningRoutingEngine {
  readonly url: URL
  /** Fails when the engine ends. */
  readonly failed: Effect.Effect<never, EngineError>
}

interface Options {
  readonly directory: string
  readonly extract: string
  readonly port: number | undefined
}

const failure = (cause: unknown) => new EngineError({ message: cause instanceof Error ? cause.message : String(cause) })

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: failure })

/** The paths are relative to the engine's working directory, so that two engines can run at once. */
const SOCKETS = {
  "httpd-service-loopback": "ipc://loopback",
  "httpd-service-interrupt": "ipc://interrupt",
  "loki-service-proxy": "ipc://loki",
  "thor-service-proxy": "ipc://thor",
  "odin-service-proxy": "ipc://odin",
  "meili-service-proxy": "ipc://meili"
}

const writeSettings = async (
  environment: string,
  file: string,
  tiles: string,
  more: Readonly<Record<string, string>> = {}
): Promise<void> => {
  const script = join(environment, "bin", "valhalla_build_config")
  const settings = { "mjolnir-tile-dir": tiles, "mjolnir-tile-extract": "", "logging-color": "false", ...more }
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  await writeFile(file, await outputOf(pythonOf(environment), [script, ...options]))
}

const digestOf = async (file: string) => {
  const hash = createHash("sha256")
  await pipeline(createReadStream(file), hash)
  return hash.digest("hex")
}

const tilesOf = async (directory: string, environment: string, extract: string): Promise<string> => {
  const tiles = join(directory, `tiles-${(await digestOf(extract)).slice(0, 12)}`)
  await madeOnce(tiles, async (prepared) => {
    await mkdir(prepared)
    const settings = `${prepared}.json`
    await writeSettings(environment, settings, prepared)
    await outputOf(await engineProgram(environment, "valhalla_build_tiles"), ["-c", settings, extract])
  })
  return tiles
}

const isReady = async (url: URL, signal: AbortSignal) => {
  const response = await fetch(new URL("/status", url), { signal })
  await response.arrayBuffer()
  return response.ok
}

const responds = (url: URL) =>
  Effect.suspend(() => {
    const last = { problem: "it does not respond" }
    return Effect.tryPromise({ try: (signal) => isReady(url, signal), catch: problemOf }).pipe(
      Effect.filterOrFail((isReady) => isReady, () => "its status is not 200"),
      Effect.tapError((problem) => Effect.sync(() => last.problem = problem)),
      Effect.retry(Schedule.spaced("100 millis")),
      Effect.mapError(failure),
      Effect.timeoutOrElse({
        duration: "30 seconds",
        orElse: () => Effect.fail(failure(`not ready within 30 seconds: ${last.problem}`))
      })
    )
  })

const temporaryDirectory = (directory: string) =>
  Effect.acquireRelease(
    attempt(() => makeDraft(join(directory, "run"))),
    (draft) => Effect.promise(() => rm(draft, { recursive: true, force: true }))
  )

/**
 * Starts Valhalla on the loopback interface with the roads of one extract, until the scope closes or this process is
 * killed. The engine (pyvalhalla from PyPI, for Python 3.12) and the tiles of each extract are prepared once and kept.
 */
export const routingEngine: (options: Options) => Effect.Effect<RunningRoutingEngine, EngineError, Scope.Scope> = Effect
  .fn("routingEngine")(
    function*(options: Options) {
      const directory = resolve(options.directory)
      yield* Effect.logInfo("preparing the engine, packages are installed at the first start", { directory })
      const environment = yield* attempt(() => engineEnvironment(directory))
      yield* Effect.logInfo("preparing the tiles, built once for an extract", { extract: options.extract })
      const tiles = yield* attempt(() => tilesOf(directory, environment, resolve(options.extract)))
      const program = yield* attempt(() => engineProgram(environment, "valhalla_service"))
      const port = yield* attempt(() => freePort(options.port))
      const runDirectory = yield* temporaryDirectory(directory)
      yield* attempt(() =>
        writeSettings(environment, join(runDirectory, "settings.json"), tiles, {
          ...SOCKETS,
          "httpd-service-listen": `tcp://127.0.0.1:${port}`
        })
      )
      // The engine has no state that a kill could spoil, and on SIGTERM it waits half a minute for requests.
      const { ended, lines } = yield* supervisedProcess([program, "settings.json", "1"], {
        directory: runDirectory,
        interrupts: 0,
        lastSignal: "KILL"
      })
      const url = new URL(`http://127.0.0.1:${port}`)
      const failed = Effect.flatMap(
        Effect.promise(() => ended),
        () => Effect.fail(failure(`the engine ended: ${lines.join("\n")}`))
      )
      yield* Effect.raceFirst(responds(url), failed)
      return { url, failed }
    },
    Effect.mapError(({ message }) => new EngineError({ message: `the routing engine cannot be started: ${message}` }))
  )
