import { Context, Effect, Layer } from "effect"
import { connect, createServer, type Server, type Socket } from "node:net"

/** Stands between the service and PostgreSQL, so that a test can take the database away and give it back. */
export class DatabaseProxy extends Context.Service<DatabaseProxy, {
  /** The address by which a client reaches the same database through the proxy. */
  readonly url: string
  /** How many times clients have sent something. */
  readonly calls: Effect.Effect<number>
  /** How many bytes clients were sent. */
  readonly sent: Effect.Effect<number>
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
      Effect.map(Effect.acquireRelease(listen(new URL(target)), (proxy) => Effect.sync(proxy.close)), (proxy) => {
        const url = new URL(target)
        url.port = String(proxy.port)
        return DatabaseProxy.of({
          url: url.href,
          calls: Effect.sync(proxy.calls),
          sent: Effect.sync(proxy.sent),
          forward: Effect.sync(() => proxy.set("forward")),
          refuse: Effect.sync(() => proxy.set("refuse")),
          hang: Effect.sync(() => proxy.set("hang")),
          cut: Effect.sync(proxy.cut)
        })
      })
    )
}

type Mode = "forward" | "refuse" | "hang"

const pipe = (from: Socket, to: Socket, state: { readonly mode: Mode }, seen: (bytes: number) => void) => {
  from.on("data", (chunk) => {
    seen(chunk.length)
    if (state.mode !== "hang") to.write(chunk)
  })
  from.on("close", () => to.destroy())
  from.on("error", () => to.destroy())
}

const portOf = (server: Server) => {
  const address = server.address()
  return address === null || typeof address === "string" ? 0 : address.port
}

interface Proxy {
  readonly port: number
  readonly set: (mode: Mode) => void
  readonly cut: () => void
  readonly close: () => void
  readonly calls: () => number
  readonly sent: () => number
}

const listen = (target: URL) =>
  Effect.callback<Proxy>((resume) => {
    const state: { mode: Mode; calls: number; sent: number } = { mode: "forward", calls: 0, sent: 0 }
    const sockets = new Set<Socket>()
    const cut = () => sockets.forEach((socket) => socket.destroy())
    const server = createServer((socket) => {
      if (state.mode === "refuse") return socket.destroy()
      const upstream = connect(Number(target.port), target.hostname)
      for (const end of [socket, upstream]) {
        sockets.add(end)
        end.on("close", () => sockets.delete(end))
      }
      pipe(socket, upstream, state, () => state.calls++)
      pipe(upstream, socket, state, (bytes) => {
        state.sent += bytes
      })
      return undefined
    })
    const set = (mode: Mode) => {
      state.mode = mode
      if (mode === "refuse") cut()
    }
    const close = () => {
      cut()
      server.close()
    }
    server.listen(0, "127.0.0.1", () =>
      resume(Effect.succeed({
        port: portOf(server),
        set,
        cut,
        close,
        calls: () => state.calls,
        sent: () => state.sent
      })))
  })
