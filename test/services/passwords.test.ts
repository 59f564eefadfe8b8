import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Metric, Schema } from "effect"
import { TestClock } from "effect/testing"
import { availableParallelism } from "node:os"
import { makeLane } from "../../src/services/admission/Lane.ts"
import { LANES } from "../../src/services/admission/Lanes.ts"
import { anonymous, newEmail, signedUp } from "../support/Actors.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const CORES = availableParallelism()

/** Makes a queue of its own, with its gauges. */
const queue = Effect.fnUntraced(function*(atOnce: number) {
  const running = Metric.gauge(`test_running_${crypto.randomUUID()}`)
  const waiting = Metric.gauge(`test_waiting_${crypto.randomUUID()}`)
  const inTurn = yield* makeLane("test", { ...LANES.passwords, atOnce }, { gauges: { running, waiting } })
  const counts = Effect.map(
    Effect.all([Metric.value(running), Metric.value(waiting)]),
    (states) => states.map(({ value }) => value)
  )
  return { inTurn, counts }
})

describe("a queue", () => {
  it.effect("runs so many at once, and the others in their order", () =>
    Effect.gen(function*() {
      const { counts, inTurn } = yield* queue(2)
      const doors = yield* Effect.all([Deferred.make<number>(), Deferred.make<number>(), Deferred.make<number>()])
      const fibers = yield* Effect.forEach(doors, (door) => Effect.forkChild(inTurn(Deferred.await(door))))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* counts, [2, 1])
      yield* Deferred.succeed(doors[0], 1)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* counts, [2, 0])
      yield* Effect.forEach(doors, (door) => Deferred.succeed(door, 2))
      assert.deepStrictEqual(yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber)), [1, 2, 2])
      assert.deepStrictEqual(yield* counts, [0, 0])
    }))

  it.effect("leaves what its work acquires to the scope of the caller, whether it had to queue or not", () =>
    Effect.gen(function*() {
      const { inTurn } = yield* queue(1)
      const door = yield* Deferred.make<void>()
      const released: Array<string> = []
      const acquired = (name: string) =>
        Effect.acquireRelease(Deferred.await(door), () => Effect.sync(() => released.push(name)))
      yield* Effect.gen(function*() {
        const fibers = yield* Effect.forEach(["first", "queued"], (name) => Effect.forkChild(inTurn(acquired(name))))
        yield* TestClock.adjust("1 second")
        yield* Deferred.succeed(door, undefined)
        yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
        assert.deepStrictEqual(released, [])
      }).pipe(Effect.scoped)
      assert.sameMembers(released, ["first", "queued"])
    }))

  it.effect("refuses after 2 seconds in the queue, with Retry-After, and frees the place in the queue", () =>
    Effect.gen(function*() {
      const { counts, inTurn } = yield* queue(1)
      const door = yield* Deferred.make<void>()
      const first = yield* Effect.forkChild(inTurn(Deferred.await(door)))
      const second = yield* Effect.forkChild(Effect.exit(inTurn(Effect.die("it never has a turn"))))
      yield* TestClock.adjust("1999 millis")
      assert.deepStrictEqual(yield* counts, [1, 1])
      assert.isUndefined(second.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const error = yield* Effect.flip(Effect.flatten(Fiber.join(second)))
      assert.deepInclude(error, { reason: "passwords", retryAfterSeconds: 2 })
      assert.deepStrictEqual(yield* counts, [1, 0])
      yield* Deferred.succeed(door, undefined)
      yield* Fiber.join(first)
      assert.strictEqual(yield* inTurn(Effect.succeed("next")), "next")
      assert.deepStrictEqual(yield* counts, [0, 0])
    }))

  it.effect("is left without a trace by who goes away, from within too", () =>
    Effect.gen(function*() {
      const { counts, inTurn } = yield* queue(1)
      const inside = yield* Effect.forkChild(inTurn(Effect.never))
      const outside = yield* Effect.forkChild(inTurn(Effect.die("it never has a turn")))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* counts, [1, 1])
      yield* Fiber.interrupt(outside)
      assert.deepStrictEqual(yield* counts, [1, 0])
      yield* Fiber.interrupt(inside)
      assert.deepStrictEqual(yield* counts, [0, 0])
      assert.strictEqual(yield* inTurn(Effect.succeed("next")), "next")
    }))
})

/** Reads from `/metrics` how many passwords are being hashed and how many wait. */
const figures = Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")).pipe(
  Effect.map(({ text }) =>
    ["running", "waiting"].map((state) => Number(new RegExp(`^password_hashes_${state} (\\d+)$`, "m").exec(text)?.[1]))
  )
)

const decodeError = Schema.decodeUnknownSync(Schema.Struct({ message: Schema.String }))

const QUEUED = "Too many passwords are being checked: try again"
const QUEUED_AS_SIGN_IN = "Too many sign-ins are in progress: try again"

layer(TestServer.withCostlyPasswords())("a flood of passwords", (it) => {
  it.effect("uses every core; after 2 seconds in the queue it is 503 with Retry-After, and others are not affected", () =>
    Effect.gen(function*() {
      const rider = yield* signedUp
      const visitor = yield* anonymous
      const password = "a long enough password"
      const flood = yield* Effect.forkChild(Effect.all(
        Array.from({ length: 12 * CORES }, (_, n) =>
          n % 2 === 0
            ? visitor.post("/auth/signup-email", { email: newEmail(), password })
            : visitor.post("/auth/login-email", { email: newEmail(), password })),
        { concurrency: "unbounded" }
      ))
      yield* until(Effect.map(figures, ([running, waiting = 0]) => running === CORES && waiting > CORES))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* rider.get("/users/me")).status, 200)
      const answers = yield* Fiber.join(flood)
      const refused = answers.filter(({ status }) => status === 503)
      const messages = refused.map(({ body, headers }) => {
        assert.strictEqual(headers.get("retry-after"), "2")
        assert.deepInclude(body, { statusCode: 503, code: "INTERNAL" })
        return decodeError(body).message
      })
      assert.isAtLeast(messages.filter((message) => message === QUEUED).length, CORES)
      // Sign-ins and sign-ups queue for the database too.
      assert.isEmpty(messages.filter((message) => message !== QUEUED && message !== QUEUED_AS_SIGN_IN))
      assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([201, 401, 503]))
      assert.deepStrictEqual(yield* figures, [0, 0])
      const again = yield* visitor.post("/auth/login-email", { email: rider.email, password: rider.password })
      assert.strictEqual(again.status, 200)
    }))
})
