import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Config, Context, Duration, Effect, Layer } from "effect"
import { IncomingMessage, Server } from "node:http"
import { TransportRules } from "../http/middleware/Refusal.ts"
import { WhenResponseSent } from "../http/response/ResponseSent.ts"
import { settings } from "../services/settings/Registry.ts"
import { MAX_HEADER_BYTES, respondToParserErrors } from "./ParserErrors.ts"
import { RUNNING_REQUESTS } from "./process/Shutdown.ts"
import { requestFault } from "./RequestRules.ts"

/**
 * In milliseconds: until the headers of a request are there; until the next request begins, which is longer than a proxy keeps an
 * idle connection (usually 60 s), so that the proxy closes it; and until anything moves during a request, which is more than
 * the two minutes of an import.
 */
export const ConnectionTimeouts = Context.Reference<{
  readonly headers: number
  readonly keepAlive: number
  readonly idle: number
}>("route-planning-service/ConnectionTimeouts", {
  defaultValue: () => ({ headers: 5_000, keepAlive: 65_000, idle: 150_000 })
})

const LIMITS = {
  // `BodyAllowance` limits the body, `headersTimeout` what comes before it.
  requestTimeout: 0,
  maxHeaderSize: MAX_HEADER_BYTES,
  // `requestFault` checks it, so that its errors have the one shape.
  requireHostHeader: false,
  // A request that offers an upgrade is an ordinary one, with its body (RFC 9110, 7.8).
  shouldUpgradeCallback: () => false
}

/** With Node's 511 the kernel drops bursts, and clients retry after 1, 3 and 7 s. Capped at `net.core.somaxconn`. */
const BACKLOG = 4_096

const CHECKING_INTERVAL = 1_000

const makeServer = Effect.gen(function*() {
  const timeouts = yield* ConnectionTimeouts
  const server = new Server({
    ...LIMITS,
    headersTimeout: timeouts.headers,
    keepAliveTimeout: timeouts.keepAlive,
    connectionsCheckingInterval: Math.min(CHECKING_INTERVAL, timeouts.headers)
  })
  server.maxConnections = yield* settings.MAX_CONNECTIONS
  server.timeout = timeouts.idle
  // By default headers after the thousandth are dropped, and a second Host with them; the limit in bytes is enough.
  server.maxHeadersCount = 0
  yield* respondToParserErrors(server)
  // Without a listener Node responds itself.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  return server
})

const INTERRUPTED_RESPONSE_MS = 250

const closeConnections = (node: Server) =>
  Effect.callback<void>((resume) => {
    const close = () => {
      node.closeAllConnections()
      resume(Effect.void)
    }
    node.getConnections((_error, count) => count === 0 ? close() : setTimeout(close, INTERRUPTED_RESPONSE_MS))
  })

const MAX_LINGER_MS = 500

/** Node resets connections whose next request is on its way when it stops listening; for a moment they are served. */
const lingerOnClose = (server: Server, milliseconds: number) => {
  const closeIdleConnections = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => void setTimeout(closeIdleConnections, milliseconds)
}

const rulesLayer = Layer.succeed(TransportRules, (request) => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  return source instanceof IncomingMessage ? requestFault(source) : undefined
})

const whenSentLayer = Layer.succeed(WhenResponseSent, (request, within, run) =>
  Effect.gen(function*() {
    const response = NodeHttpServerRequest.toServerResponse(request)
    if (response.destroyed) return yield* run
    const late = yield* Effect.forkDetach(Effect.delay(Effect.sync(() => response.destroy()), within))
    response.once("close", () => {
      late.interruptUnsafe()
      Effect.runSync(run)
    })
    return undefined
  }))

/** HTTP/1.1 on Node. When the scope closes, running requests have `RUNNING_REQUESTS` to end. */
export const listenLayer = Layer.unwrap(Effect.gen(function*() {
  const linger = Math.min(Duration.toMillis(yield* settings.SHUTDOWN_DRAIN_DELAY), MAX_LINGER_MS)
  const node = yield* makeServer
  lingerOnClose(node, linger)
  return Layer.effectDiscard(Effect.addFinalizer(() => closeConnections(node))).pipe(
    Layer.provideMerge(NodeHttpServer.layerConfig(() => node, {
      port: settings.PORT,
      backlog: Config.succeed(BACKLOG),
      host: settings.HOST,
      gracefulShutdownTimeout: Config.succeed(RUNNING_REQUESTS)
    })),
    Layer.merge(rulesLayer),
    Layer.merge(whenSentLayer)
  )
}))
