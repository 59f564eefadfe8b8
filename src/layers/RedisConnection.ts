import { Duration, Effect, Redacted } from "effect"
import { RateLimiter, Redis } from "effect/persistence"
import { withBoundedReplies } from "./RedisReplies.ts"

const CONNECT_TIMEOUT = Duration.seconds(2)

const MAX_PENDING = 4096

const notUsed = Effect.suspend(() =>
  Effect.fail(new Redis.RedisError({ cause: new Error("counters need one connection and no subscription") }))
)

/** Pending commands fail at once: `close` waits for replies, which a hanging Redis never sends. */
const end = (client: { readonly isOpen: boolean; readonly destroy: () => void }) => {
  if (client.isOpen) client.destroy()
}

const clientOf = (url: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      // 40 % of the modules of the service: loaded only with `REDIS_URL`.
      try: async () => {
        const { createClient } = await import("redis")
        const client = createClient({
          url: Redacted.value(url),
          disableOfflineQueue: true,
          commandsQueueMaxLength: MAX_PENDING,
          socket: { reconnectStrategy: false, connectTimeout: Duration.toMillis(CONNECT_TIMEOUT) }
        })
        // What cannot be read as a reply leaves the connection open, and its commands without an end. The message of an
        // error may contain the address, and a password with it.
        return client.on("error", () => end(client))
      },
      catch: (cause) => new Redis.RedisError({ cause })
    }),
    (client) => Effect.sync(() => end(client))
  )

const fromPromise = <A>(call: () => Promise<A>) =>
  Effect.tryPromise({ try: call, catch: (cause) => new Redis.RedisError({ cause }) })

/**
 * Counters on one connection, until the scope closes. It is not opened again, and pending commands fail at once:
 * `NodeRedis` reconnects only when the socket closes, and waits for replies when it is closed.
 */
export const redisCounters = Effect.fnUntraced(function*(url: Redacted.Redacted, prefix: string) {
  const client = yield* clientOf(url)
  yield* Effect.timeout(fromPromise(() => withBoundedReplies(() => client.connect())), CONNECT_TIMEOUT)
  const redis = yield* Redis.make({
    send: <A>(command: string, ...rest: ReadonlyArray<string>) =>
      fromPromise(() => client.sendCommand<A>([command, ...rest])),
    connect: notUsed,
    subscribe: () => notUsed
  })
  return yield* Effect.provideService(RateLimiter.makeStoreRedis({ prefix }), Redis.Redis, redis)
})
