import { Predicate } from "effect"
import cluster from "node:cluster"
import type { Server } from "node:http"
import { createServer, type Server as Acceptor } from "node:net"

/**
 * Listening sockets of one port. Node accepts one connection of each in an iteration of its event loop: with a single one, a
 * crowd of new connections waits for as many iterations, for seconds where they are long, before anything can refuse it.
 */
const SOCKETS = 16

/** Several sockets of a process on one port share what comes to it evenly on Linux only. Workers get theirs from the primary. */
const isShared = () => process.platform === "linux" && !cluster.isWorker

/** As Node's HTTP server has its connections. */
const CONNECTIONS = { allowHalfOpen: true, noDelay: true }

const acceptorOf = (server: Server, address: { readonly address: string; readonly port: number }, backlog: unknown) => {
  const acceptor = createServer(CONNECTIONS, (socket) => void server.emit("connection", socket))
  // The others go on without it.
  acceptor.on("error", () => {})
  return acceptor.listen({
    host: address.address,
    port: address.port,
    reusePort: true,
    ...(Predicate.isNumber(backlog) ? { backlog } : {})
  })
}

/** Fails the start beside another process on the port, which `reusePort` would share it with. */
const whenFree = (server: Server, options: object, run: () => void) => {
  const probe = createServer()
  probe.once("error", (error) => server.emit("error", error))
  probe.listen({ ...options }, () => probe.close(run))
}

/** Calls back once all have. */
const whenAll = (actions: ReadonlyArray<(done: () => void) => void>, callback: () => void) => {
  const left = { count: actions.length }
  const done = () => {
    left.count -= 1
    if (left.count === 0) callback()
  }
  actions.forEach((action) => action(done))
}

/** Makes a server listen by several sockets where the system can; it closes them and counts their connections. */
export const listenByMany = (server: Server): void => {
  if (!isShared()) return
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
