import { Effect } from "effect"
import { type ProxyMode, startTcpProxy } from "../test/support/TcpProxy.ts"

/** What stands between the service and PostgreSQL. */
export interface Network {
  readonly port: number
  readonly become: (mode: ProxyMode) => Effect.Effect<void>
}

export const networkTo = Effect.fnUntraced(function*(port: number) {
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() => startTcpProxy({ host: "127.0.0.1", port })),
    ({ close }) => Effect.promise(close)
  )
  const network: Network = {
    port: proxy.port,
    become: (mode) => Effect.promise(() => proxy.set(mode))
  }
  return network
})
