import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Ref } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import type { Position } from "../../src/schema/Geometry.ts"
import { ELEVATION_TIMEOUT } from "../../src/schema/Limits.ts"
import { measurePositions } from "../../src/services/geometry/MeasuredPolyline.ts"
import { RoutingEngine } from "../../src/services/routing/Engine.ts"
import { Elevations } from "../../src/services/routing/Routing.ts"
import { directWork } from "../support/DirectWork.ts"
import { until } from "../support/Waiting.ts"

describe("the elevations of a file", () => {
  const lineOf = (...positions: ReadonlyArray<Position>) => measurePositions(positions)

  it.effect("are left as they are after their time, without a job for any other line", () =>
    Effect.gen(function*() {
      // The time left is not the time of day.
      yield* TestClock.adjust("1 hour")
      const jobs: Array<string> = []
      const heavy = directWork(({ name }) => jobs.push(name))
      const hung = RoutingEngine.of({ call: () => Effect.never, status: Effect.never, mapDate: Effect.never })
      const lines = [
        lineOf([9, 47], [9.1, 47.1], [9.2, 47.2, 400]),
        lineOf([9, 47], [9.1, 47.1]),
        lineOf([9, 47, 1], [9.1, 47.1, 2]),
        lineOf()
      ]
      const filling = yield* Effect.forkChild(
        Elevations.use(({ fillIfPossible }) => fillIfPossible(lines)).pipe(
          Effect.provide(Elevations.layer.pipe(
            Layer.provide([heavy, Layer.succeed(RoutingEngine, hung)])
          ))
        )
      )
      yield* TestClock.adjust(ELEVATION_TIMEOUT)
      const filled = yield* Fiber.join(filling)
      assert.deepStrictEqual(filled.map(({ missing }) => missing), [2, 2, 0, 0])
      assert.deepStrictEqual(filled.map(({ filled }) => filled), [0, 0, 0, 0])
      assert.deepStrictEqual(filled.map(({ line }) => line), lines)
      assert.strictEqual(jobs.length, 1)
    }))

  it.effect("open the circuit of an engine that hangs, unless the clients hang up", () =>
    Effect.gen(function*() {
      const calls = yield* Ref.make(0)
      const hanging = HttpClient.make(() => Effect.andThen(Ref.update(calls, (count) => count + 1), Effect.never))
      const engine = RoutingEngine.layer.pipe(Layer.provide([
        Layer.succeed(HttpClient.HttpClient, hanging),
        ConfigProvider.layer(ConfigProvider.fromUnknown({ ROUTING_ENGINE_URL: "http://engine.example.com" }))
      ]))
      yield* Effect.gen(function*() {
        const { fillIfPossible } = yield* Elevations
        const begun = Effect.forkChild(fillIfPossible([lineOf([9, 47], [9.1, 47.1])]))
        const fills = Effect.replicateEffect(begun, 5)
        const clients = yield* fills
        yield* until(Effect.map(Ref.get(calls), (count) => count === 5))
        yield* Fiber.interruptAll(clients)
        const patient = yield* fills
        yield* until(Effect.map(Ref.get(calls), (count) => count === 10))
        yield* TestClock.adjust(ELEVATION_TIMEOUT)
        yield* Fiber.joinAll(patient)
        const refused = yield* begun
        yield* TestClock.adjust(ELEVATION_TIMEOUT)
        yield* Fiber.join(refused)
        assert.strictEqual(yield* Ref.get(calls), 10)
      }).pipe(Effect.provide(Elevations.layer.pipe(Layer.provide([directWork(() => undefined), engine]))))
    }))
})
