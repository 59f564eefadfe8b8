import { NodeHttpServer, NodeHttpServerRequest } from "@effect/platform-node"
import { Config, Context, Effect, Layer } from "effect"
import { createServer, IncomingMessage, type Server, type ServerResponse } from "node:http"
import { TransportRules } from "../http/Refusal.ts"
import { port } from "../services/Addresses.ts"
import { MAX_HEADER_BYTES, respondToParserErrors } from "./ParserErrors.ts"
import { RUNNING_REQUESTS } from "./process/Shutdown.ts"
import { requestFault } from "./RequestRules.ts"

/**
 * In milliseconds: how long the headers of a request may take to arrive, and how long a connection may be on which nothing
 * moves, as of a client that went away without a word. The latter is more than the two minutes in which an import is
 * answered.
 */
export const SocketTimeouts = Context.Reference<{ readonly headers: number; readonly idle: number }>(
  "route-planning-service/SocketTimeouts",
  { defaultValue: () => ({ headers: 5_000, idle: 150_000 }) }
)

const LIMITS = {
  requestTimeout: 30_000,
  // Longer than a proxy in front keeps an idle connection (usually 60 s): it is the one to close it.
  keepAliveTimeout: 65_000,
  maxHeaderSize: MAX_HEADER_BYTES,
  // `requestFault` checks the host, so that its errors have the one shape.
  requireHostHeader: false,
  // Nothing is upgraded. A request that offers it is an ordinary one, with its body (RFC 9110, 7.8).
  shouldUpgradeCallback: () => false
}

/** Node checks both timeouts so often. */
const CHECKING_INTERVAL = 1_000

/** Effect listens a moment before it serves: requests that come in between are held until it does. */
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

const makeServer = (timeouts: { readonly headers: number; readonly idle: number }) => {
  const server = createServer({
    ...LIMITS,
    headersTimeout: timeouts.headers,
    connectionsCheckingInterval: Math.min(CHECKING_INTERVAL, timeouts.headers)
  }).setTimeout(timeouts.idle)
  // By default headers after the thousandth are dropped, and with them a second Host; the limit in bytes is enough.
  server.maxHeadersCount = 0
  respondToParserErrors(server)
  // Without a listener Node itself would respond.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  holdUntilServed(server)
  return server
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

const rulesLayer = Layer.succeed(TransportRules, (request) => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  return source instanceof IncomingMessage ? requestFault(source) : undefined
})

/**
 * An HTTP/1.1 server on Node with the rules of its requests. It listens for as long as the scope lives; then running
 * requests have their time, and no longer.
 */
export const listenLayer = Layer.unwrap(Effect.map(SocketTimeouts, (timeouts) => {
  const node = makeServer(timeouts)
  return Layer.effectDiscard(Effect.addFinalizer(() => closeConnections(node))).pipe(
    Layer.provideMerge(NodeHttpServer.layerConfig(() => node, {
      port,
      host: Config.String("HOST").pipe(Config.withDefault("0.0.0.0")),
      gracefulShutdownTimeout: Config.succeed(RUNNING_REQUESTS)
    })),
    Layer.merge(rulesLayer)
  )
}))
