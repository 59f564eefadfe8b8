import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, type Fiber, Metric, Option, Scope, Stream } from "effect"
import { HttpServerError, HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { makeAddressShares, noteCredential } from "../../src/http/request/AddressShares.ts"
import { Downloads, ReadAllowance, takenInTime } from "../../src/http/response/Downloads.ts"
import type { ServiceError } from "../../src/schema/Errors.ts"

const requestFrom = (address: string) =>
  HttpServerRequest.fromWeb(new Request("http://localhost/")).modify({ remoteAddress: Option.some(address) })

type Request = HttpServerRequest.HttpServerRequest

/** Does something for a request, and returns the status and the message of its refusal. */
const outcomeFor = <R>(request: Request, work: Effect.Effect<unknown, ServiceError, R | Request>) =>
  work.pipe(
    Effect.as("taken"),
    Effect.catch(({ details, message, statusCode }) =>
      Effect.succeed(`${statusCode} ${message}, ${details?.retryAfterSeconds}`)
    ),
    Effect.provideService(HttpServerRequest.HttpServerRequest, request)
  )

const BUSY = "503 Too many things at once: try again, 5"

const fullFor = (sharer: string) => `429 Too many things to this ${sharer} at once: try again when one has ended, 5`

const known = (address: string) => {
  const request = requestFrom(address)
  return Effect.as(Effect.provideService(noteCredential, HttpServerRequest.HttpServerRequest, request), request)
}

describe("shares", () => {
  const make = () => {
    const { requireRoom, reserve } = makeAddressShares("things", {
      perAddress: 3,
      perNetwork: 5,
      anonymous: 6,
      total: 8
    })
    const takenBy = (request: Request, ...amounts: ReadonlyArray<number>) =>
      outcomeFor(request, Effect.flatMap(reserve, ({ take }) => Effect.forEach(amounts, take)))
    return {
      reserve,
      takenBy,
      taken: (address: string, ...amounts: ReadonlyArray<number>) => takenBy(requestFrom(address), ...amounts),
      room: (address: string) => outcomeFor(requestFrom(address), requireRoom)
    }
  }

  it.effect("are full for an address, its network, those without a credential, and all, in this order", () =>
    Effect.gen(function*() {
      const { room, taken, takenBy } = make()
      for (const _ of [1, 2, 3]) assert.strictEqual(yield* taken("10.0.0.1", 1), "taken")
      assert.strictEqual(yield* taken("10.0.0.1", 1), fullFor("address"))
      assert.strictEqual(yield* taken("10.0.0.2", 2), "taken")
      assert.strictEqual(yield* taken("10.0.0.3", 1), fullFor("network"))
      assert.strictEqual(yield* taken("10.0.1.1", 1), "taken")
      assert.strictEqual(yield* taken("10.0.2.1", 1), BUSY)
      assert.strictEqual(yield* takenBy(yield* known("10.0.2.1"), 2), "taken")
      assert.strictEqual(yield* takenBy(yield* known("10.0.3.1"), 1), BUSY)
      // A write may be that of a caller with a credential, which is known later.
      assert.strictEqual(yield* room("10.0.3.1"), "taken")
      assert.strictEqual(yield* room("10.0.0.3"), fullFor("network"))
    }).pipe(Effect.scoped))

  it.effect("may be exceeded by what is alone in them, but not beside others", () =>
    Effect.gen(function*() {
      const { taken } = make()
      assert.strictEqual(yield* Effect.scoped(taken("10.0.0.1", 2, 2, 90)), "taken")
      assert.strictEqual(yield* taken("10.0.0.1", 1), "taken")
      assert.strictEqual(yield* taken("10.0.0.1", 2, 1), fullFor("address"))
    }).pipe(Effect.scoped))

  it.effect("have room again for exactly what has ended", () =>
    Effect.gen(function*() {
      const { room, taken } = make()
      assert.strictEqual(yield* taken("10.0.0.1", 1), "taken")
      assert.strictEqual(yield* Effect.scoped(taken("10.0.0.1")), "taken")
      assert.strictEqual(yield* Effect.scoped(taken("10.0.0.1", 1, 1)), "taken")
      assert.strictEqual(yield* room("10.0.0.1"), "taken")
      assert.strictEqual(yield* taken("10.0.0.1", 2), "taken")
      assert.strictEqual(yield* room("10.0.0.1"), fullFor("address"))
      assert.strictEqual(yield* taken("10.0.0.1", 1), fullFor("address"))
    }).pipe(Effect.scoped))

  it.effect("count what is added above them, so that there is no room", () =>
    Effect.gen(function*() {
      const { reserve, room, taken } = make()
      assert.strictEqual(yield* taken("10.0.0.1", 2), "taken")
      const added = Effect.flatMap(reserve, ({ add }) => add(2))
      assert.strictEqual(yield* outcomeFor(requestFrom("10.0.0.1"), added), "taken")
      assert.strictEqual(yield* room("10.0.0.1"), fullFor("address"))
      assert.strictEqual(yield* room("10.0.0.2"), "taken")
    }).pipe(Effect.scoped))
})

const running = Effect.map(Metric.snapshot, (metrics) => {
  const gauge = metrics.find(({ id }) => id === "downloads_running")
  return gauge?.type === "Gauge" ? gauge.state.value : undefined
})

describe("downloads", () => {
  it.effect("are at most 8 to an address, 16 to a network, 24 without a credential, and 32 in all", () =>
    Effect.gen(function*() {
      const { admit } = yield* Downloads
      assert.strictEqual(yield* running, 0)
      const admitted = Effect.fnUntraced(function*(count: number, request: Effect.Effect<Request>) {
        for (let n = 0; n < count; n++) assert.strictEqual(yield* outcomeFor(yield* request, admit), "taken")
        return yield* outcomeFor(yield* request, admit)
      })
      const someone = (address: string) => Effect.sync(() => requestFrom(address))
      const scope = yield* Scope.make()
      const refusals = yield* Scope.provide(
        Effect.all([
          admitted(8, someone("10.0.0.1")),
          admitted(8, someone("10.0.0.2")),
          admitted(8, someone("10.0.1.1")),
          admitted(0, someone("10.0.2.1")),
          admitted(8, known("10.0.3.1")),
          admitted(0, known("10.0.4.1"))
        ]),
        scope
      )
      assert.deepStrictEqual(refusals.map((refusal) => refusal.replace(/ at once.*/, "")), [
        "429 Too many downloads to this address",
        // Both shares are full then.
        "429 Too many downloads to this address",
        "429 Too many downloads to this address",
        "503 Too many downloads",
        "429 Too many downloads to this address",
        "503 Too many downloads"
      ])
      assert.match(yield* outcomeFor(requestFrom("10.0.0.3"), Effect.scoped(admit)), /to this network/)
      assert.strictEqual(yield* running, 32)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* running, 0)
    }).pipe(Effect.provide(Downloads.layer)))

  /** Returns how many parts a client takes that waits so long after each; `gone` if it was hung up on. */
  const takenWith = Effect.fnUntraced(function*(length: number, waits: ReadonlyArray<number>) {
    const seen = { parts: 0 }
    const parts = Stream.fromIterable(waits).pipe(Stream.rechunk(1), Stream.map(() => new Uint8Array(length)))
    const fiber: Fiber.Fiber<Exit.Exit<void>> = yield* Effect.forkChild(
      Effect.exit(Stream.runForEach(takenInTime(parts), () => Effect.sleep(waits[seen.parts++] ?? 0)))
    )
    for (const wait of waits) yield* TestClock.adjust(wait)
    const exit = fiber.pollUnsafe()
    const ended = exit !== undefined && Exit.isSuccess(exit) ? exit.value : Exit.void
    const isGone = Exit.isFailure(ended)
      && Cause.hasInterruptsOnly(ended.cause)
      && ended.cause.reasons.every(({ annotations }) => annotations.has(HttpServerError.ClientAbort.key))
    return `${seen.parts} ${isGone ? "gone" : "whole"}`
  })

  it.effect("end for a client that is 30 seconds behind 16 KiB a second", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* takenWith(16_384, [30_000, 1000, 1000, 1000]), "4 whole")
      assert.strictEqual(yield* takenWith(16_384, [30_000, 1000, 1001, 0]), "3 gone")
      assert.strictEqual(yield* takenWith(16_384, [30_001, 0]), "1 gone")
    }))

  it.effect("end once the time that the bytes were worth is used up, and not before", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* takenWith(500, [750, 750, 750, 0]), "3 gone")
      assert.strictEqual(yield* takenWith(501, [751, 751, 0]), "2 gone")
      assert.strictEqual(yield* takenWith(1000, [1000, 1000, 1000, 1000]), "4 whole")
    }).pipe(Effect.provideService(ReadAllowance, { grace: Duration.seconds(1), bytesPerSecond: 1000 })))
})
