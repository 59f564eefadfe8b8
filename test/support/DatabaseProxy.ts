import { Context, Effect, Layer } from "effect"
import { type ProxyMode, startTcpProxy } from "./TcpProxy.ts"

/** Starts a proxy before a database, and returns the address by which TCP clients reach the database through it. */
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

/** A test takes the database away from the service by this proxy, and gives it back. */
export class DatabaseProxy extends Context.Service<DatabaseProxy, {
  /** A client reaches the same database through the proxy at this address. */
  readonly url: string
  /** Counts how often clients have sent something. */
  readonly calls: Effect.Effect<number>
  /** Counts the bytes that clients were sent. */
  readonly sent: Effect.Effect<number>
  readonly set: (mode: ProxyMode) => Effect.Effect<void>
  readonly forward: Effect.Effect<void>
  /** Closes all connections and accepts no new ones, like a stopped server. */
  readonly refuse: Effect.Effect<void>
  /** Keeps all connections and forwards nothing, like a broken network. */
  readonly hang: Effect.Effect<void>
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
