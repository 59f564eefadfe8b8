import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { anonymous } from "../support/Actors.ts"
import { Collector } from "../support/Collector.ts"
import { HTTP_FAULTS, type HttpFault } from "../support/HttpFaults.ts"
import { DISCOVERY, OpenIdProvider } from "../support/OpenIdProvider.ts"
import { StandInEngine } from "../support/StandInEngine.ts"
import { StandInRedis } from "../support/StandInRedis.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

/** The service depends on all of these beside the database and the mail provider. */
const dependencies = Layer.mergeAll(Collector.layer, OpenIdProvider.layer, StandInEngine.layer, StandInRedis.layer)

const serverLayer = Layer.unwrap(Effect.gen(function*() {
  return TestServer.layer({
    ROUTING_ENGINE_URL: (yield* StandInEngine).url,
    OTEL_EXPORTER_OTLP_ENDPOINT: (yield* Collector).url,
    GOOGLE_ISSUER: (yield* OpenIdProvider).url,
    GOOGLE_CLIENT_ID: "client",
    GOOGLE_CLIENT_SECRET: "secret",
    REDIS_URL: (yield* StandInRedis).url,
    RATE_LIMITS_ENABLED: "true"
  })
})).pipe(Layer.provideMerge(dependencies))

const readsOf = (count: number) =>
  Effect.flatMap(
    anonymous,
    (visitor) => Effect.forEach(Array.from({ length: count }), () => visitor.get("/routes/public"), { concurrency: 8 })
  )

const READS = 40

const FAULTS = ["hang", "drip", "dripHeaders", "refuse", "notHttp", "garbage"] as const satisfies ReadonlyArray<
  HttpFault
>

layer(serverLayer)("while all that the service depends on is at fault", (it) => {
  for (const [index, fault] of FAULTS.entries()) {
    it.effect(`and does ${fault}, no other request waits for it`, () =>
      Effect.gen(function*() {
        const engine = yield* StandInEngine
        const provider = yield* OpenIdProvider
        const redis = yield* StandInRedis
        const visitor = yield* anonymous
        const collector = yield* Collector
        yield* collector.become(fault)
        yield* engine.misbehave(HTTP_FAULTS[fault])
        yield* provider.misbehave(DISCOVERY, HTTP_FAULTS[fault])
        yield* redis.become("hang")
        // The first that Redis does not count wait for 50 milliseconds.
        const first = yield* Effect.forkChild(readsOf(1))
        yield* until(
          Effect.andThen(TestClock.adjust("250 millis"), Effect.sync(() => first.pollUnsafe() !== undefined))
        )

        const waiting = yield* Effect.forEach(Array.from({ length: 40 }), (_, n) =>
          Effect.forkChild(
            n % 10 === 0
              ? visitor.post("/auth/google", { code: "a code" })
              : visitor.post("/routing/route", {
                activity: "cycle",
                preferences: {},
                locations: [{ lat: index, lon: n }, { lat: 1, lon: 2 }]
              })
          ))
        // The clock stands still: whatever waited for a dependency, or in a queue behind those who do, would never end.
        for (const { status } of yield* readsOf(READS)) assert.strictEqual(status, 200)
        assert.strictEqual((yield* visitor.get("//health/live")).status, 200)

        yield* until(Effect.andThen(
          TestClock.adjust("1 second"),
          Effect.sync(() => waiting.every((fiber) => fiber.pollUnsafe() !== undefined))
        ))
        for (const { body, status } of yield* Fiber.joinAll(waiting)) {
          assert.oneOf(status, [429, 502, 503, 504])
          assert.deepInclude(body, { statusCode: status })
        }
        // An export that hangs would hold up the end of the server.
        yield* collector.recover
        // The windows of the limits and the pause of the engine's circuit end within a minute.
        yield* TestClock.adjust("1 minute")
      }))
  }
})
