import { Effect, Schedule, Schema, type Scope } from "effect"
import { rm } from "node:fs/promises"
import { join, resolve } from "node:path"
import { freePort } from "./FreePort.ts"
import { makeDraft } from "./PostgresBinaries.ts"
import { engineEnvironment, engineProgram } from "./RoutingEnginePackages.ts"
import { tilesOf, writeSettings } from "./RoutingEngineTiles.ts"
import { supervisedProcess } from "./SupervisedProcess.ts"

/** The routing engine could not be installed, fed or started; the message says what is missing. */
export class EngineError extends Schema.TaggedError<EngineError>()("EngineError", { message: Schema.String }) {}

interface Options {
  /** Where the engine and its tiles live; made if absent, and kept. */
  readonly directory: string
  /** A file of OpenStreetMap data, `.osm.pbf`. */
  readonly extract: string
  /** Of the loopback interface; a free one where it is undefined. */
  readonly port: number | undefined
}

const failure = (cause: unknown) => new EngineError({ message: cause instanceof Error ? cause.message : String(cause) })

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: failure })

/** What talks inside the engine is named by the directory it runs in, so that two engines can run at once. */
const SOCKETS = {
  "httpd-service-loopback": "ipc://loopback",
  "httpd-service-interrupt": "ipc://interrupt",
  "loki-service-proxy": "ipc://loki",
  "thor-service-proxy": "ipc://thor",
  "odin-service-proxy": "ipc://odin",
  "meili-service-proxy": "ipc://meili"
}

const isReady = async (url: URL, signal: AbortSignal) => {
  const response = await fetch(new URL("/status", url), { signal })
  await response.arrayBuffer()
  return response.ok
}

const answers = (url: URL) =>
  Effect.tryPromise({ try: (signal) => isReady(url, signal), catch: failure }).pipe(
    Effect.filterOrFail((isReady) => isReady, () => failure("it is not ready")),
    Effect.retry(Schedule.spaced("100 millis")),
    Effect.timeoutOrElse({
      duration: "30 seconds",
      orElse: () => Effect.fail(failure("it was not ready within 30 seconds"))
    })
  )

const temporaryRoom = (directory: string) =>
  Effect.acquireRelease(
    attempt(() => makeDraft(join(directory, "run"))),
    (room) => Effect.promise(() => rm(room, { recursive: true, force: true }))
  )

/**
 * A real Valhalla on the loopback interface for as long as the scope lives, with the roads of one extract; its address.
 * The engine (pyvalhalla from PyPI, in a virtual environment) and the tiles of each extract are made once and kept.
 * When this process is killed, the engine ends by itself.
 *
 * Fails without Python 3.12 or newer, if pip cannot install it, if the extract cannot be read, if the port is taken, or
 * if it does not start.
 */
export const routingEngine: (options: Options) => Effect.Effect<{ readonly url: URL }, EngineError, Scope.Scope> =
  Effect.fn("routingEngine")(
    function*(options: Options) {
      const directory = resolve(options.directory)
      yield* Effect.logInfo("preparing the engine: its packages are installed at the first start", { directory })
      const environment = yield* attempt(() => engineEnvironment(directory))
      yield* Effect.logInfo("preparing the roads: the tiles of an extract are built once", { extract: options.extract })
      const tiles = yield* attempt(() => tilesOf(directory, environment, resolve(options.extract)))
      const program = yield* attempt(() => engineProgram(environment, "valhalla_service"))
      const port = yield* attempt(() => freePort(options.port))
      const room = yield* temporaryRoom(directory)
      yield* attempt(() =>
        writeSettings(environment, join(room, "settings.json"), tiles, {
          ...SOCKETS,
          "httpd-service-listen": `tcp://127.0.0.1:${port}`
        })
      )
      // It has nothing that a kill could spoil, and on SIGTERM it would wait half a minute for requests to end.
      const { ended, lines } = yield* supervisedProcess([program, "settings.json", "1"], {
        directory: room,
        interrupts: 0,
        lastSignal: "KILL"
      })
      const url = new URL(`http://127.0.0.1:${port}`)
      const fallen = Effect.flatMap(Effect.promise(() => ended), () => Effect.fail(failure(lines.join("\n"))))
      yield* Effect.raceFirst(answers(url), fallen)
      return { url }
    },
    Effect.mapError(({ message }) => new EngineError({ message: `the routing engine cannot be started: ${message}` }))
  )
