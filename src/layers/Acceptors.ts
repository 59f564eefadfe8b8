import { Predicate } from "effect"
import cluster from "node:cluster"
import type { Server } from "node:http"
import { createServer, type Server as Acceptor } from "node:net"

/** Node accepts one connection a socket in an iteration of its event loop: with one, a burst waits for seconds. */
const SOCKETS = 48

/** Sockets of one process share a port evenly on Linux only. Workers get theirs from the primary. */
const isShared = () => process.platform === "linux" && !cluster.isWorker

const CONNECTIONS = { allowHalfOpen: true, noDelay: true }

/** Counts the connections of all sockets for `maxConnections`, as Node does for those of one. */
const closeBeyondMost = (server: Server) => {
  const open = { count: 0 }
  server.prependListener("connection", (socket) => {
    open.count += 1
    socket.once("close", () => open.count -= 1)
    if (open.count > server.maxConnections) socket.destroy()
  })
}

const acceptorOf = (server: Server, address: { readonly address: string; readonly port: number }, backlog: unknown) => {
  const acceptor = createServer(CONNECTIONS, (socket) => void server.emit("connection", socket))
  acceptor.on("error", () => {})
  return acceptor.listen({
    host: address.address,
    port: address.port,
    reusePort: true,
    ...(Predicate.isNumber(backlog) ? { backlog } : {})
  })
}

/** Fails where another process has the port: `reusePort` would share it. */
const whenFree = (server: Server, options: object, run: () => void) => {
  const probe = createServer()
  probe.once("error", (error) => server.emit("error", error))
  probe.listen({ ...options }, () => probe.close(run))
}

const whenAll = (actions: ReadonlyArray<(done: () => void) => void>, callback: () => void) => {
  const left = { count: actions.length }
  const done = () => {
    left.count -= 1
    if (left.count === 0) callback()
  }
  actions.forEach((action) => action(done))
}

export const listenByMany = (server: Server): void => {
  if (!isShared()) return
  closeBeyondMost(server)
  const acceptors: Array<Acceptor> = []
  const listen = server.listen.bind(server)
  const close = server.close.bind(server)
  const getConnections = server.getConnections.bind(server)

  server.listen = (...args: Array<unknown>) => {
    const [options, onListening] = args
    const given = Predicate.isObject(options) ? options : {}
    const backlog = Predicate.hasProperty(given, "backlog") ? given.backlog : undefined
    server.once("listening", () => {
      const address = server.address()
      if (address === null || Predicate.isString(address)) return
      acceptors.push(...Array.from({ length: SOCKETS - 1 }, () => acceptorOf(server, address, backlog)))
    })
    const begin = () =>
      listen({ ...given, reusePort: true }, () => Predicate.isFunction(onListening) ? onListening() : undefined)
    if (Predicate.hasProperty(given, "port") && given.port !== 0) whenFree(server, given, begin)
    else begin()
    return server
  }
  server.close = (callback) => {
    const closing = acceptors.map((acceptor) => (done: () => void) => void acceptor.close(done))
    const result: { error?: Error | undefined } = {}
    const closeOwn = (done: () => void) =>
      void close((error) => {
        result.error = error
        done()
      })
    whenAll([closeOwn, ...closing], () => callback?.(result.error))
    return server
  }
  server.getConnections = (callback) => {
    const sum = { count: 0 }
    const countings = [getConnections, ...acceptors.map((acceptor) => acceptor.getConnections.bind(acceptor))]
    const adding = countings.map((counting) => (done: () => void) =>
      counting((_error, count) => {
        sum.count += count
        done()
      })
    )
    whenAll(adding, () => callback(null, sum.count))
    return server
  }
}
