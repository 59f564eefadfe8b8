import { connect, createServer, type Socket } from "node:net"

/**
 * A proxy treats the bytes of its connections, old and new, in both directions, by its mode:
 * - `pass`: forwards them;
 * - `hang`: keeps connections open, takes new ones, and discards every byte: what is lost stays lost;
 * - `stall`: like `hang`, but keeps the bytes and forwards them in the next mode, as a stopped process does;
 * - `refuse`: closes all connections and does not listen, so that clients get ECONNREFUSED;
 * - `reset`: ends all connections, and new ones, with RST;
 * - a number: forwards each chunk after this many milliseconds, in order.
 */
export type ProxyMode = "pass" | "hang" | "stall" | "refuse" | "reset" | number

/**
 * The proxy injects faults between a client and a server. It depends on `node:net` only:
 *
 * ```ts
 * const proxy = await startTcpProxy({ host: "127.0.0.1", port: 5432 })
 * const url = `postgres://user:password@127.0.0.1:${proxy.port}/name`
 * await proxy.set("hang")
 * await proxy.set("pass")
 * await proxy.close()
 * ```
 */
export interface TcpProxy {
  /** The port is on 127.0.0.1, and stays the same for the proxy's whole life. */
  readonly port: number
  /** Resolves once the mode applies. */
  readonly set: (mode: ProxyMode) => Promise<void>
  /** Closes all connections once. */
  readonly cut: () => void
  /** Leads new connections to another port of the server's host, and leaves the open ones. */
  readonly lead: (port: number) => void
  /** Returns how many connections are open. */
  readonly connections: () => number
  /** Returns how many chunks clients have sent. */
  readonly chunks: () => number
  /** Returns how many bytes the server has sent. */
  readonly received: () => number
  readonly close: () => Promise<void>
}

interface State {
  mode: ProxyMode
  targetPort: number
  chunks: number
  received: number
}

/** Forwards one direction. Returns a function that forwards the kept chunks. */
const forward = (from: Socket, to: Socket, state: State, onChunk: (bytes: number) => void) => {
  const kept: Array<Buffer> = []
  const write = (chunk: Buffer) => {
    if (!to.destroyed) to.write(chunk)
  }
  from.on("data", (chunk: Buffer) => {
    onChunk(chunk.length)
    if (state.mode === "stall") kept.push(chunk)
    else if (typeof state.mode === "number") setTimeout(write, state.mode, chunk)
    else if (state.mode === "pass") write(chunk)
  })
  from.on("close", () => to.destroy())
  from.on("error", () => to.destroy())
  return () => kept.splice(0).forEach(write)
}

export const startTcpProxy = async (target: { readonly host: string; readonly port: number }): Promise<TcpProxy> => {
  const state: State = { mode: "pass", targetPort: target.port, chunks: 0, received: 0 }
  const pairs = new Map<Socket, { readonly upstream: Socket; readonly release: () => void }>()

  const server = createServer((client) => {
    if (state.mode === "reset") {
      client.resetAndDestroy()
      return
    }
    const upstream = connect({ host: target.host, port: state.targetPort })
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    const releases = [
      forward(client, upstream, state, () => void state.chunks++),
      forward(upstream, client, state, (bytes) => {
        state.received += bytes
      })
    ]
    pairs.set(client, { upstream, release: () => releases.forEach((release) => release()) })
    client.on("close", () => pairs.delete(client))
  })

  const listen = (port: number) =>
    new Promise<number>((resolve, reject) => {
      server.once("error", reject)
      server.listen(port, "127.0.0.1", () => {
        server.off("error", reject)
        const address = server.address()
        resolve(address === null || typeof address === "string" ? 0 : address.port)
      })
    })

  const end = (how: (socket: Socket) => void) => {
    for (const [client, { upstream }] of pairs) {
      how(client)
      upstream.destroy()
    }
  }
  const cut = () => end((socket) => socket.destroy())

  const stopListening = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      cut()
    })

  const port = await listen(0)

  const set = async (mode: ProxyMode) => {
    state.mode = mode
    if (mode === "refuse") return server.listening ? stopListening() : undefined
    if (!server.listening) await listen(port)
    if (mode === "reset") end((socket) => socket.resetAndDestroy())
    if (mode !== "stall" && mode !== "hang") { for (const { release } of pairs.values()) release() }
    return undefined
  }

  return {
    port,
    set,
    cut,
    lead: (port) => void (state.targetPort = port),
    connections: () => pairs.size,
    chunks: () => state.chunks,
    received: () => state.received,
    close: () => (server.listening ? stopListening() : Promise.resolve())
  }
}
