import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { ReadAllowance } from "../../src/http/response/Downloads.ts"
import { signedIn } from "../../test/support/Actors.ts"
import { MIB, unread } from "../../test/support/Connections.ts"
import { longRoute } from "../../test/support/LongRoute.ts"
import { TestServer } from "../../test/support/TestServer.ts"
import { until } from "../../test/support/Waiting.ts"

setFlagsFromString("--expose-gc")

const collectGarbage: () => void = runInNewContext("gc")

/** Each collection takes some 100 ms of the processor that the work needs whose end is awaited. */
const BETWEEN_COLLECTIONS = Duration.millis(500)

/**
 * The memory that the process holds after a collection, in bytes, without array buffers: each connection of the database keeps one as
 * long as the longest row that it had.
 */
const memory = Effect.sync(() => {
  collectGarbage()
  const { arrayBuffers, external, heapUsed } = process.memoryUsage()
  return heapUsed + external - arrayBuffers
})

const patient = TestServer.layer().pipe(
  Layer.provide(Layer.succeed(ReadAllowance, { grace: Duration.minutes(1), bytesPerSecond: 1024 }))
)

layer(patient, { excludeTestServices: true, timeout: "60 seconds" })("a response that is not read", (it) => {
  it.effect("keeps nothing in memory, be it a download or an export", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const path = `/routes/${yield* longRoute(rider)}/gpx`
      for (const [at, headers] of [[path, {}], ["/users/me/export", { cookie: rider.cookie }]] as const) {
        const before = yield* memory
        const stalled = yield* Effect.all(Array.from({ length: 3 }, () => unread(at, "127.0.0.1", headers)))
        assert.deepStrictEqual(stalled.map(({ statusCode }) => statusCode), [200, 200, 200])
        // The engine gives some back only after a while.
        yield* until(Effect.map(memory, (held) => held - before < 3 * MIB), BETWEEN_COLLECTIONS)
      }
    }).pipe(Effect.scoped), 60_000)
})
