import { Context, Effect, Layer, Ref } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { freePort } from "../../development/FreePort.ts"

/** The program is Debian's `redis-server`, if this machine has it. */
export const hasRedis = spawnSync("redis-server", ["--version"]).status === 0

const start = (port: number) =>
  Effect.callback<{ readonly stop: Effect.Effect<void> }>((resume) => {
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    const child = spawn("redis-server", options, { stdio: ["ignore", "pipe", "ignore"] })
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
    const stop = Effect.promise(() => {
      child.kill("SIGKILL")
      return ended
    })
    child.stdout.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes("Ready to accept connections")) resume(Effect.succeed({ stop }))
    })
  })

/** A test can take this real Redis away and give it back. */
export class RedisServer extends Context.Service<RedisServer, {
  readonly url: string
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
}>()("test/RedisServer") {
  static readonly layer = Layer.effect(
    RedisServer,
    Effect.gen(function*() {
      const port = yield* Effect.promise(() => freePort())
      const running = yield* Ref.make(yield* start(port))
      const stop = Effect.flatMap(Ref.get(running), (server) => server.stop)
      yield* Effect.addFinalizer(() => stop)
      return RedisServer.of({
        url: `redis://127.0.0.1:${port}`,
        stop,
        start: Effect.flatMap(start(port), (server) => Ref.set(running, server))
      })
    })
  )
}
