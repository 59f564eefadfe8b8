import { Context, Effect, Layer } from "effect"
import { type ProxyMode, startTcpProxy } from "./TcpProxy.ts"

/** A proxy before a database, and the address by which a client reaches the database through it, by TCP. */
export const databaseProxy = Effect.fnUntraced(function*(target: string) {
  const url = new URL(target)
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() => startTcpProxy({ host: url.hostname, port: Number(url.port) })),
    ({ close }) => Effect.promise(close)
  )
  url.port = String(proxy.port)
  url.searchParams.delete("host")
  return { proxy, url: url.href }
})

/** Stands between the service and PostgreSQL, so that a test can take the database away and give it back. */
export class DatabaseProxy extends Context.Service<DatabaseProxy, {
  /** The address by which a client reaches the same database through the proxy. */
  readonly url: string
  /** How many times clients have sent something. */
  readonly calls: Effect.Effect<number>
  /** How many bytes clients were sent. */
  readonly sent: Effect.Effect<number>
  readonly set: (mode: ProxyMode) => Effect.Effect<void>
  readonly forward: Effect.Effect<void>
  /** Closes all connections and takes no new ones, like a server that is stopped. */
  readonly refuse: Effect.Effect<void>
  /** Keeps all connections and carries nothing, like a network that is broken. */
  readonly hang: Effect.Effect<void>
  /** Closes all connections once. */
  readonly cut: Effect.Effect<void>
}>()("test/DatabaseProxy") {
  static readonly layer = (target: string) =>
    Layer.effect(
      DatabaseProxy,
      Effect.gen(function*() {
        const { proxy, url } = yield* databaseProxy(target)
        const set = (mode: ProxyMode) => Effect.promise(() => proxy.set(mode))
        return DatabaseProxy.of({
          url,
          calls: Effect.sync(proxy.chunks),
          sent: Effect.sync(proxy.received),
          set,
          forward: set("pass"),
          refuse: set("refuse"),
          hang: set("hang"),
          cut: Effect.sync(proxy.cut)
        })
      })
    )
}
