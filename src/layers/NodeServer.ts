import { NodeHttpServer, NodeHttpServerRequest } from "@effect/platform-node"
import { Config, Duration, Effect, Layer, Option, Predicate } from "effect"
import { IncomingMessage, type Server, type ServerResponse } from "node:http"
import { Socket } from "node:net"
import { TransportRules } from "../http/middleware/Refusal.ts"
import { ArrivedBytes } from "../http/request/BodyArrival.ts"
import { WhenResponseSent } from "../http/response/ResponseSent.ts"
import { RunningRequests } from "../services/limits/RunningRequests.ts"
import { drainDelay } from "../services/operations/Draining.ts"
import { host, port } from "../services/settings/Addresses.ts"
import { listenByMany } from "./Acceptors.ts"
import { GatedServer, makeLoadGate, onEveryRequest } from "./Overload.ts"
import { MAX_HEADER_BYTES, respondToParserErrors } from "./ParserErrors.ts"
import { RUNNING_REQUESTS } from "./process/Shutdown.ts"
import { Starting } from "./process/Starting.ts"
import { requestFault } from "./RequestRules.ts"
import { applySocketTimeouts, LowestReadRate, SocketTimeouts } from "./SocketTimeouts.ts"

const LIMITS = {
  // `BodyAllowance` bounds the body by its size, and `headersTimeout` what comes before it.
  requestTimeout: 0,
  // Longer than a proxy in front keeps an idle connection (usually 60 s): it is the one to close it.
  keepAliveTimeout: 65_000,
  maxHeaderSize: MAX_HEADER_BYTES,
  // `requestFault` checks the host, so that its errors have the one shape.
  requireHostHeader: false,
  // Nothing is upgraded. A request that offers it is an ordinary one, with its body (RFC 9110, 7.8).
  shouldUpgradeCallback: () => false
}

/**
 * Connections that may wait to be accepted. With Node's 511 the kernel drops what comes beyond while the event loop is busy,
 * and the client tries again only after one, three and seven seconds. Linux takes no more than `net.core.somaxconn`.
 */
const BACKLOG = 4_096

/** Node checks the timeout of headers so often. */
const CHECKING_INTERVAL = 1_000

/**
 * Effect listens a moment before it serves: requests that come in between are held until it does. Its listener is the next
 * one for requests, so no listener of our own may be added after this one.
 */
const holdUntilServed = (server: Server) => {
  const held: Array<readonly [IncomingMessage, ServerResponse]> = []
  const hold = (request: IncomingMessage, response: ServerResponse) => void held.push([request, response])
  const release = () => held.splice(0).forEach(([request, response]) => server.emit("request", request, response))
  server.on("request", hold)
  server.on("newListener", (event) => {
    if (event !== "request" || server.listenerCount("request", hold) === 0) return
    server.off("request", hold)
    queueMicrotask(release)
  })
}

/** A server that has the rules of connections, and neither listens nor responds. */
export const makeServer = Effect.gen(function*() {
  const timeouts = yield* SocketTimeouts
  const lowestReadRate = yield* LowestReadRate
  const server = new GatedServer({
    ...LIMITS,
    headersTimeout: timeouts.headers,
    connectionsCheckingInterval: Math.min(CHECKING_INTERVAL, timeouts.headers)
  })
  listenByMany(server)
  applySocketTimeouts(server, timeouts, lowestReadRate)
  // By default headers after the thousandth are dropped, and with them a second Host; the limit in bytes is enough.
  server.maxHeadersCount = 0
  respondToParserErrors(server)
  // Without a listener Node itself would respond.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  return server
})

/** For a server that listens already: Effect calls `listen` on it again. */
const listenNoMore = (server: Server) => {
  server.listen = (...args: Array<unknown>) => {
    const onListening = args.at(-1)
    if (Predicate.isFunction(onListening)) queueMicrotask(() => onListening())
    return server
  }
}

/** For the requests that were interrupted to say so, in milliseconds. */
const LAST_WORDS = 250

/** Cuts off what has not ended by itself, like half a request. */
const closeConnections = (node: Server) =>
  Effect.callback<void>((resume) => {
    const close = () => {
      node.closeAllConnections()
      resume(Effect.void)
    }
    node.getConnections((_error, count) => count === 0 ? close() : setTimeout(close, LAST_WORDS))
  })

/** At most, in milliseconds: less than what running requests have. */
const LONGEST_LINGER = 500

/**
 * Node closes idle connections in the instant in which it stops listening, and resets those whose next request is on its
 * way. They stay open for a moment: a request that comes on one is served, with `Connection: close`.
 */
const lingerOnClose = (server: Server, milliseconds: number) => {
  const closeIdleConnections = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => void setTimeout(closeIdleConnections, milliseconds)
}

const rulesLayer = Layer.succeed(TransportRules, (request) => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  return source instanceof IncomingMessage ? requestFault(source) : undefined
})

/** Counts the bytes of a request with its headers, and of what else came on the connection since the response before. */
const arrivedBytesLayer = (server: Server) => {
  const before = new WeakMap<Socket, number>()
  onEveryRequest(server, ({ socket }, response) => response.once("finish", () => before.set(socket, socket.bytesRead)))
  return Layer.succeed(ArrivedBytes, (request) => {
    const { socket } = NodeHttpServerRequest.toIncomingMessage(request)
    return socket instanceof Socket ? socket.bytesRead - (before.get(socket) ?? 0) : 0
  })
}

const whenSentLayer = Layer.succeed(WhenResponseSent, (request, run) =>
  Effect.sync(() => {
    const response = NodeHttpServerRequest.toServerResponse(request)
    const ended = () => {
      response.off("finish", ended)
      response.off("close", ended)
      Effect.runSync(run)
    }
    if (response.writableFinished || response.destroyed) return Effect.runSync(run)
    response.on("finish", ended)
    response.on("close", ended)
    return undefined
  }))

/**
 * An HTTP/1.1 server on Node with the rules of its requests. It listens for as long as the scope lives; then running
 * requests have their time, and no longer.
 */
export const listenLayer = Layer.unwrap(Effect.gen(function*() {
  const linger = Math.min(Duration.toMillis(yield* drainDelay), LONGEST_LINGER)
  const waiting = yield* (yield* Starting).waiting
  const node = Option.isSome(waiting) ? waiting.value.server : yield* makeServer
  const gate = yield* makeLoadGate
  node.gate = gate
  lingerOnClose(node, linger)
  const arrivedBytes = arrivedBytesLayer(node)
  holdUntilServed(node)
  if (Option.isSome(waiting)) {
    listenNoMore(node)
    waiting.value.release()
  }
  return Layer.effectDiscard(Effect.addFinalizer(() => closeConnections(node))).pipe(
    Layer.provideMerge(NodeHttpServer.layerConfig(() => node, {
      port,
      backlog: Config.succeed(BACKLOG),
      host,
      gracefulShutdownTimeout: Config.succeed(RUNNING_REQUESTS)
    })),
    Layer.merge(rulesLayer),
    Layer.merge(whenSentLayer),
    Layer.merge(Layer.succeed(RunningRequests, gate)),
    Layer.merge(arrivedBytes)
  )
}))
