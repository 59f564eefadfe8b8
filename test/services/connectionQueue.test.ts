import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Metric, Pool, Scope } from "effect"
import { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeConnectionQueue, NoFreeConnection } from "../../src/services/admission/ConnectionQueue.ts"

const WAIT = Duration.seconds(1)

const queueOf = Effect.fnUntraced(function*(connections: number, length: number) {
  const clock = yield* Clock.Clock
  return yield* makeConnectionQueue({ clock, connections, length, longestWait: WAIT })
})

const waiting = Effect.map(Metric.snapshot, (metrics) => {
  const gauge = metrics.find(({ id }) => id === "database_queue_waiting")
  return gauge?.type === "Gauge" ? gauge.state.value : undefined
})

const refused = (reason: string) =>
  Effect.map(Metric.snapshot, (metrics) => {
    const counter = metrics.find(({ attributes, id }) =>
      id === "database_queue_refusals_total" && attributes?.["reason"] === reason
    )
    return counter?.type === "Counter" ? Number(counter.state.count) : 0
  })

/** Returns the reason why nobody was let in. */
const causeOf = <A>(work: Effect.Effect<A, SqlError.SqlError>) =>
  Effect.map(Effect.flip(work), ({ reason }) => reason.cause)

/** Takes the place of a statement that does not end by itself. */
const held = Effect.fnUntraced(function*(queue: Effect.Success<ReturnType<typeof queueOf>>) {
  const begun = yield* Deferred.make<void>()
  const fiber = yield* Effect.forkChild(queue.run(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)))
  yield* Deferred.await(begun)
  return fiber
})

/** Returns how many of ten users get in at once; they leave without a success or a failure. */
const admittedBy = Effect.fnUntraced(function*(queue: Effect.Success<ReturnType<typeof queueOf>>) {
  const seen = { admitted: 0 }
  const user = queue.run(Effect.andThen(Effect.sync(() => seen.admitted++), Effect.never))
  const users = yield* Effect.replicateEffect(Effect.forkChild(user), 10)
  yield* Effect.yieldNow
  const { admitted } = seen
  yield* Fiber.interruptAll(users)
  return admitted
})

describe("the queue for connections", () => {
  it.effect("admits as many at once as there are connections, and the others in order of arrival", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(2, 100)
      const order: Array<number> = []
      const state = { running: 0, most: 0 }
      const work = (index: number) =>
        queue.run(Effect.gen(function*() {
          order.push(index)
          state.most = Math.max(state.most, ++state.running)
          yield* Effect.yieldNow
          state.running--
        }))
      yield* Effect.forEach(Array.from({ length: 50 }, (_, index) => index), work, { concurrency: "unbounded" })
      assert.deepStrictEqual(order, Array.from({ length: 50 }, (_, index) => index))
      assert.strictEqual(state.most, 2)
    }))

  it.effect("is first in, first out, whether for one statement or a scope", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(1, 100)
      const order: Array<string> = []
      const scope = yield* Scope.make()
      yield* Scope.provide(queue.turn, scope)
      const first = yield* Effect.forkChild(queue.run(Effect.sync(() => order.push("first"))))
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      yield* queue.run(Effect.sync(() => order.push("second")))
      yield* Fiber.join(first)
      assert.deepStrictEqual(order, ["first", "second"])
    }))

  it.effect("refuses who finds it full at once, and who waited too long", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(1, 1)
      const [full, late] = [yield* refused("full"), yield* refused("timeout")]
      const holder = yield* held(queue)
      const waiter = yield* Effect.forkChild(causeOf(queue.run(Effect.void)))
      yield* Effect.yieldNow
      assert.strictEqual(yield* waiting, 1)
      assert.instanceOf(yield* causeOf(queue.run(Effect.void)), NoFreeConnection)
      assert.instanceOf(yield* causeOf(Effect.scoped(queue.turn)), NoFreeConnection)
      yield* TestClock.adjust(WAIT)
      assert.instanceOf(yield* Fiber.join(waiter), NoFreeConnection)
      assert.strictEqual((yield* refused("full")) - full, 2)
      assert.strictEqual((yield* refused("timeout")) - late, 1)
      assert.strictEqual(yield* waiting, 0)
      yield* Fiber.interrupt(holder)
      yield* queue.run(Effect.void)
    }))

  it.effect("begins with nobody who waits, refuses nobody before it is used, and counts who finds the database away", () =>
    Effect.gen(function*() {
      const counted = Effect.all([refused("full"), refused("timeout"), refused("unreachable")])
      const before = yield* counted
      const queue = yield* queueOf(1, 10)
      assert.strictEqual(yield* waiting, 0)
      assert.deepStrictEqual(yield* counted, before)
      const holder = yield* held(queue)
      const waiter = yield* Effect.forkChild(causeOf(queue.run(Effect.void)))
      yield* Effect.yieldNow
      queue.close()
      yield* Fiber.join(waiter)
      yield* causeOf(queue.run(Effect.void))
      yield* Fiber.interrupt(holder)
      const [full, timeout, unreachable] = before
      assert.deepStrictEqual(yield* counted, [full, timeout, unreachable + 2])
    }))

  it.effect("admits readers to all connections, also for a scope", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(4, 10)
      yield* Effect.scoped(Effect.gen(function*() {
        for (let turns = 0; turns < 4; turns++) yield* queue.turn
        assert.strictEqual(queue.waiting(), 0)
        yield* Effect.forkChild(queue.run(Effect.never))
        yield* Effect.yieldNow
        assert.strictEqual(queue.waiting(), 1)
      }))
    }))

  it.effect("says which part of its longest wait the first in the queue has waited", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(1, 10)
      const holder = yield* held(queue)
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(queue.lateness(), 0)
      const first = yield* Effect.forkChild(queue.run(Effect.never))
      yield* TestClock.adjust("200 millis")
      const second = yield* Effect.forkChild(queue.run(Effect.void))
      yield* TestClock.adjust("300 millis")
      assert.strictEqual(queue.lateness(), 0.5)
      yield* Fiber.interrupt(first)
      assert.strictEqual(queue.lateness(), 0.3)
      yield* Fiber.interrupt(holder)
      yield* Fiber.join(second)
      assert.strictEqual(queue.lateness(), 0)
    }))

  it.effect("counts a statement that commits by itself as a transaction, and lets a read pass it", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(4, 10)
      const seen = { writes: 0 }
      const write = queue.run(Effect.andThen(Effect.sync(() => seen.writes++), Effect.never), true)
      const writes = yield* Effect.replicateEffect(Effect.forkChild(write), 4)
      yield* TestClock.adjust(0)
      assert.strictEqual(seen.writes, 3)
      yield* queue.run(Effect.void)
      assert.strictEqual(seen.writes, 3)
      yield* Effect.forEach(writes.slice(0, 1), Fiber.interrupt)
      yield* TestClock.adjust(0)
      assert.strictEqual(seen.writes, 4)
    }))

  it.effect("does not call reads late where only transactions wait, which leave them a connection", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(4, 10)
      yield* Effect.replicateEffect(
        Effect.forkChild(Effect.scoped(Effect.andThen(queue.transactionTurn, Effect.never))),
        4
      )
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual([queue.lateness(), queue.lateness(true)], [0.5, 0])
      yield* held(queue)
      yield* Effect.forkChild(queue.run(Effect.never))
      yield* TestClock.adjust("300 millis")
      assert.deepStrictEqual([queue.lateness(), queue.lateness(true)], [0.8, 0.3])
    }))

  it.effect("forgets who is interrupted or out of time, at whatever instant", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(2, 1000)
      for (let round = 0; round < 200; round++) {
        const fibers = yield* Effect.forEach(Array.from({ length: 12 }, (_, index) => index), (index) =>
          Effect.forkChild(
            index % 2 === 0
              ? queue.run(Effect.yieldNow)
              : Effect.scoped(Effect.andThen(queue.turn, Effect.yieldNow))
          ))
        for (let step = 0; step < round % 7; step++) yield* Effect.yieldNow
        if (round % 3 === 0) yield* TestClock.adjust(WAIT)
        yield* Effect.forEach(fibers, (fiber) => Fiber.interrupt(fiber), { concurrency: "unbounded", discard: true })
      }
      assert.strictEqual(yield* waiting, 0)
      const both = yield* Effect.all([held(queue), held(queue)])
      const third = yield* Effect.forkChild(queue.run(Effect.succeed("third")))
      yield* Effect.yieldNow
      assert.isUndefined(third.pollUnsafe())
      yield* Fiber.interrupt(both[0])
      assert.strictEqual(yield* Fiber.join(third), "third")
    }))

  it.effect("times who waits where interruption is not allowed", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(1, 10)
      yield* held(queue)
      const waiter = yield* Effect.forkChild(Effect.uninterruptible(causeOf(queue.run(Effect.void))))
      yield* Effect.yieldNow
      yield* TestClock.adjust(WAIT)
      assert.instanceOf(yield* Fiber.join(waiter), NoFreeConnection)
    }))

  it.effect("refuses all that wait and all that come while it is closed, and not as busy", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(1, 10)
      const holder = yield* held(queue)
      const waiter = yield* Effect.forkChild(causeOf(queue.run(Effect.void)))
      yield* Effect.yieldNow
      queue.close()
      assert.notInstanceOf(yield* Fiber.join(waiter), NoFreeConnection)
      assert.notInstanceOf(yield* causeOf(queue.run(Effect.void)), NoFreeConnection)
      yield* Fiber.interrupt(holder)
      queue.open()
      yield* queue.run(Effect.void)
    }))
})

const connectFailure = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({ cause: new Error("too many clients"), operation: "connect" })
})

describe("the queue for connections, where one cannot be made", () => {
  const failing = Effect.andThen(Effect.yieldNow, Effect.fail(connectFailure))

  it.effect("lets a single user try while there is none, and fails those who wait with it", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(4, 100)
      const seen = { tries: 0, running: 0, most: 0 }
      const attempt = queue.run(
        Effect.suspend(() => {
          seen.tries++
          seen.most = Math.max(seen.most, ++seen.running)
          return Effect.ensuring(failing, Effect.sync(() => seen.running--))
        })
      )
      const attempts = Effect.forEach(Array.from({ length: 20 }), () => Effect.flip(attempt), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(new Set(yield* attempts), new Set([connectFailure]))
      assert.deepStrictEqual(seen, { tries: 4, running: 0, most: 4 })
      const before = yield* refused("unreachable")
      yield* attempts
      assert.strictEqual(seen.tries, 5)
      assert.strictEqual(yield* refused("unreachable"), before + 20)
      yield* Effect.flip(attempt)
      assert.strictEqual(yield* refused("unreachable"), before + 21, "one user, and no other waits")
    }))

  it.effect("admits as many as have one, and one more for each time that all of these succeed", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(4, 100)
      const [first, second] = yield* Effect.all([Scope.make(), Scope.make()])
      yield* Scope.provide(queue.turn, first)
      yield* Scope.provide(queue.turn, second)
      assert.strictEqual(yield* Effect.flip(queue.run(failing)), connectFailure)
      assert.strictEqual(yield* admittedBy(queue), 0)
      yield* Scope.close(first, Exit.void)
      assert.strictEqual(yield* admittedBy(queue), 1)
      yield* Scope.close(second, Exit.void)
      assert.strictEqual(yield* admittedBy(queue), 2)
      yield* queue.run(Effect.void)
      assert.strictEqual(yield* admittedBy(queue), 3)
      yield* Effect.replicateEffect(queue.run(Effect.void), 3)
      assert.strictEqual(yield* admittedBy(queue), 4)
      yield* Effect.replicateEffect(queue.run(Effect.void), 20)
      assert.strictEqual(yield* admittedBy(queue), 4)
    }))

  it.effect("notices it in a scope too", () =>
    Effect.gen(function*() {
      const queue = yield* queueOf(4, 100)
      const transaction = Effect.scoped(Effect.andThen(queue.turn, failing))
      assert.strictEqual(yield* Effect.flip(transaction), connectFailure)
      assert.strictEqual(yield* admittedBy(queue), 1)
    }))
})

/** Counts the waiters that a pool of one wakes until all have got the failure of their item. */
const wakesOf = Effect.fnUntraced(
  function*(
    waiters: number,
    admitted: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
  ) {
    const pool = yield* Pool.makeWithTTL({
      acquire: Effect.andThen(Effect.yieldNow, Effect.fail("no connection")),
      min: 0,
      max: 1,
      timeToLive: "1 hour"
    })
    const seen = { wakes: 0, most: 0 }
    const walk = pool.state.waiters[Symbol.iterator].bind(pool.state.waiters)
    Object.assign(pool.state.waiters, {
      *[Symbol.iterator]() {
        seen.most = Math.max(seen.most, pool.state.waiters.size)
        for (const waiter of { [Symbol.iterator]: walk }) {
          seen.wakes++
          yield waiter
        }
      }
    })
    yield* Effect.forEach(
      Array.from({ length: waiters }),
      () => Effect.exit(admitted(Pool.use(pool, () => Effect.void))),
      { concurrency: "unbounded", discard: true }
    )
    return seen
  }
)

/** Counts the fibers that a pool of ten, which needs time to fail, has after so many times ten users. */
const fibersAfter = Effect.fnUntraced(
  function*(
    rounds: number,
    admitted: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
  ) {
    const pool = yield* Pool.makeWithTTL({
      acquire: Effect.andThen(Effect.replicateEffect(Effect.yieldNow, 10), Effect.fail(connectFailure)),
      min: 0,
      max: 10,
      timeToLive: "1 hour"
    })
    const use = Effect.exit(admitted(Pool.use(pool, () => Effect.void)))
    for (let round = 0; round < rounds; round++) yield* Effect.replicateEffect(use, 10, { concurrency: 10 })
    const { state } = pool.state.scope
    return state._tag === "Open" ? state.finalizers?.size ?? 0 : 0
  }
)

describe("Effect's pool", () => {
  it.effect(
    "wakes all its waiters each time that an item could not be acquired, and never more than one of the queue's",
    () =>
      Effect.gen(function*() {
        const few = yield* wakesOf(20, (work) => work)
        const many = yield* wakesOf(80, (work) => work)
        assert.isAbove(many.wakes / few.wakes, 8)
        const queue = yield* queueOf(1, 1000)
        const queued = yield* wakesOf(80, queue.run)
        assert.isAtMost(queued.most, 1)
        assert.isBelow(queued.wakes, few.wakes)
      })
  )

  it.effect("gets more fibers with each round of users that fail to connect, and few behind the queue", () =>
    Effect.gen(function*() {
      const few = yield* fibersAfter(10, (work) => work)
      assert.isAbove(yield* fibersAfter(30, (work) => work), 2 * few)
      const queue = yield* queueOf(10, 1000)
      assert.isAtMost(yield* fibersAfter(10, queue.run), 50)
      assert.isAtMost(yield* fibersAfter(30, queue.run), 50)
    }))
})
