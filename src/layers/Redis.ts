import {
  Context,
  Duration,
  Effect,
  Fiber,
  Layer,
  Metric,
  Option,
  Queue,
  Redacted,
  Ref,
  References,
  Schedule,
  Schema
} from "effect"
import { RateLimiter } from "effect/persistence"
import { setImmediate } from "node:timers/promises"
import { CounterState, processCountersLayer } from "../services/admission/RateLimits.ts"
import { settings } from "../services/operations/SettingsRegistry.ts"
import { onceAMinute } from "./Logging.ts"

/** A count that takes longer is late, and the process counts alone. */
export const CountTimeout = Context.Reference("route-planning-service/CountTimeout", {
  defaultValue: () => Duration.millis(50)
})

/**
 * After a stall, Node runs timers before it reads sockets: one long timer would end although the reply has arrived,
 * while a stall ends only one of several short ones.
 */
const STEPS = 5

const CONNECT_TIMEOUT = Duration.seconds(2)

const MAX_PENDING = 4096

const CHECK_INTERVAL = Duration.seconds(2)

const PREFIX = "route-planning-service:limit:"

const CHECK = { key: "check", tokens: 1, refillRate: Duration.minutes(1), limit: undefined }

type Store = RateLimiter.RateLimiterStore["Service"]

class NoCount extends Schema.TaggedError<NoCount>()("NoCount", {}) {}

const isShared = Metric.gauge("rate_limits_shared", {
  description: "1 while rate limits are counted in Redis, 0 while this process counts alone"
})

const lateAfter = (timeout: Duration.Duration) =>
  Effect.andThen(
    Effect.repeat(Effect.sleep(Duration.divideUnsafe(timeout, STEPS)), { times: STEPS - 1 }),
    Effect.suspend(() => Effect.fail(new NoCount()))
  )

/** Fails with `NoCount` also for a reply that is no count: Effect's store returns the parts of any reply. */
const countIn = (store: Store, options: Parameters<Store["fixedWindow"]>[0], late: ReturnType<typeof lateAfter>) =>
  store.fixedWindow(options).pipe(
    Effect.filterOrFail((count) => count.every(Number.isFinite), () => new NoCount()),
    Effect.raceFirst(late),
    Effect.catchDefect(() => Effect.fail(new NoCount()))
  )

/** Returns the counters of Redis on one connection, which lasts until the scope closes and is not opened again. */
const redisStore = Effect.fnUntraced(function*(url: Redacted.Redacted) {
  // The client has 40 % of the service's modules, so it is loaded only with `REDIS_URL`.
  const { layer } = yield* Effect.promise(() => import("@effect/platform-node/NodeRedis"))
  const connection = new AbortController()
  // `NodeRedis` closes its client after all replies, which a hanging Redis never sends, or once the client has noticed
  // that its socket is closed, which takes an iteration of the event loop.
  const end = Effect.promise(() => {
    connection.abort()
    return setImmediate()
  })
  // A separate fiber builds the client: when interrupted, it closes the client before it gives up the connection.
  const building = yield* Effect.forkChild(
    Layer.build(layer({
      url: Redacted.value(url),
      disableOfflineQueue: true,
      commandsQueueMaxLength: MAX_PENDING,
      socket: { reconnectStrategy: false, signal: connection.signal }
    })).pipe(
      // The client would log each error with its cause, which may contain the address and a password.
      Effect.provideService(References.MinimumLogLevel, "None")
    ),
    // The fiber starts at once, so that the socket exists before the signal comes.
    { startImmediately: true }
  )
  const redis = yield* Fiber.join(building).pipe(Effect.timeout(CONNECT_TIMEOUT), Effect.onError(() => end))
  yield* Effect.addFinalizer(() => end)
  return yield* Effect.provide(RateLimiter.makeStoreRedis({ prefix: PREFIX }), redis)
})

/**
 * Counts in Redis. After a failed or late count, this process counts alone, without waiting, until Redis replies to a
 * check. A connection without a reply is replaced.
 */
const sharedStore = Effect.fnUntraced(function*(url: Redacted.Redacted) {
  const own = yield* RateLimiter.RateLimiterStore
  const shared = yield* Ref.make(Option.none<Store>())
  const warn = yield* onceAMinute(Effect.logWarning("Redis takes no counts, rate limits counted in this process"))
  const doubts = yield* Queue.sliding<void>(1)
  const late = lateAfter(yield* CountTimeout)

  const use = (store: Option.Option<Store>) =>
    Effect.andThen(Ref.set(shared, store), Metric.update(isShared, Option.isSome(store) ? 1 : 0))

  const countAlone = Effect.andThen(use(Option.none()), warn)

  const attend = (store: Store) =>
    countIn(store, CHECK, late).pipe(
      Effect.andThen(use(Option.some(store))),
      Effect.andThen(Effect.timeoutOption(Queue.take(doubts), CHECK_INTERVAL)),
      Effect.forever
    )

  yield* use(Option.none())
  yield* redisStore(url).pipe(
    Effect.flatMap(attend),
    Effect.scoped,
    Effect.tapError(() => countAlone),
    Effect.retry(Schedule.spaced(CHECK_INTERVAL)),
    Effect.forkScoped
  )

  const store = RateLimiter.RateLimiterStore.of({
    ...own,
    fixedWindow: (options) =>
      Effect.flatMap(
        Ref.get(shared),
        Option.match({
          onNone: () => own.fixedWindow(options),
          onSome: (store) =>
            countIn(store, options, late).pipe(
              Effect.catch(() =>
                countAlone.pipe(
                  Effect.andThen(Queue.offer(doubts, undefined)),
                  Effect.andThen(own.fixedWindow(options))
                )
              )
            )
        })
      )
  })
  return Context.make(RateLimiter.RateLimiterStore, store).pipe(
    Context.add(CounterState, {
      get: Effect.map(Ref.get(shared), (store) => Option.isSome(store) ? "redis" : "redis-away")
    })
  )
})

export const rateCountersLayer = Layer.unwrap(
  Effect.map(settings.REDIS_URL, (url) =>
    Option.isNone(url)
      ? processCountersLayer
      : Layer.effectContext(sharedStore(url.value)).pipe(Layer.provide(processCountersLayer)))
)
