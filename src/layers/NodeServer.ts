import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Config, Context, DateTime, Duration, Effect, Layer, Option, Tracer } from "effect"
import { IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { HEADERS } from "../http/api/Headers.ts"
import { TransportRules } from "../http/middleware/ErrorShape.ts"
import { WhenResponseSent } from "../http/middleware/LargeResponses.ts"
import { recordRefusal, refusedSpan, RequestBegun } from "../http/middleware/RequestTelemetry.ts"
import { headersOfRefusals } from "../http/middleware/ResponseHeaders.ts"
import { incomplete } from "../http/request/RequestBodies.ts"
import { encodeError } from "../http/response/ErrorResponse.ts"
import {
  ExpectationFailed,
  HeadersTooLarge,
  NotFound,
  NotImplemented,
  RequestTimeout,
  type ServiceError,
  ValidationFailed
} from "../schema/Errors.ts"
import { MEDIA_TYPES } from "../schema/MediaTypes.ts"
import { settings } from "../services/operations/SettingsRegistry.ts"
import { LingeringServer } from "../upstream/IdleConnections.ts"
import { PiecedResponse } from "../upstream/PiecedResponse.ts"
import { RUNNING_REQUESTS } from "./Shutdown.ts"

type Rule = (request: IncomingMessage) => ServiceError | undefined

/** The parser also accepts HTTP/0.9 and HTTP/2.0, which have another syntax. */
const versionRule: Rule = ({ httpVersion }) =>
  httpVersion === "1.1" || httpVersion === "1.0"
    ? undefined
    : ValidationFailed.at("header", "", `Expected HTTP/1.1 or HTTP/1.0, not HTTP/${httpVersion}`)

/** A host is a name, an IPv4 or an IPv6 address with an optional port (RFC 9110, 7.2), without user, path or list. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~%-]+)(?::\d{0,5})?$/i

const isHost = (text: string) => HOST.test(text) && URL.canParse(`http://${text}`)

/** A request of HTTP/1.1 has exactly one valid `Host` (RFC 9112, 3.2). */
const hostRule: Rule = (request) => {
  // Node's `headers` keeps the first of several `Host` and drops the others.
  const [host, ...others] = request.headersDistinct.host ?? []
  if (others.length > 0) return ValidationFailed.at("header", "Host", `Expected once, not ${others.length + 1} times`)
  if (host === undefined) {
    return request.httpVersion === "1.0"
      ? undefined
      : ValidationFailed.at("header", "Host", "Expected in HTTP/1.1, but missing")
  }
  return isHost(host)
    ? undefined
    : ValidationFailed.at("header", "Host", "Expected a host name or an IP address, with an optional port")
}

/** A transfer coding that is not implemented gets 501 (RFC 9112, 6.1). */
const codingRule: Rule = ({ headers }) =>
  (headers["transfer-encoding"] ?? "chunked").toLowerCase() === "chunked"
    ? undefined
    : new NotImplemented({ message: "Transfer-Encoding: only \"chunked\" is implemented" })

/** HTTP/1.0 has no expectations (RFC 9110, 10.1.1). */
const expectationRule: Rule = ({ headers, httpVersion }) =>
  httpVersion === "1.0" || (headers.expect ?? "100-continue").toLowerCase() === "100-continue"
    ? undefined
    : new ExpectationFailed({ message: "Expect: only \"100-continue\" is implemented" })

const requestFault = (request: IncomingMessage): ServiceError | undefined =>
  versionRule(request) ?? hostRule(request) ?? codingRule(request) ?? expectationRule(request)

const MAX_HEADER_BYTES = 16 * 1024

const LATE = "ERR_HTTP_REQUEST_TIMEOUT"

const errorOf = (cause: NodeJS.ErrnoException): ServiceError => {
  switch (cause.code) {
    case "HPE_HEADER_OVERFLOW":
      return new HeadersTooLarge({
        message: `The request line and headers may have at most ${MAX_HEADER_BYTES} bytes`,
        details: { limitBytes: MAX_HEADER_BYTES }
      })
    case LATE:
      return new RequestTimeout({ message: "The request line and headers did not arrive in time" })
    default:
      // The parser's messages are constants: they contain nothing of the request.
      return ValidationFailed.at(
        "header",
        "",
        `The request is not well-formed HTTP/1.1: ${cause.message.replace("Parse Error: ", "")}`
      )
  }
}

/** Unread bytes cause a reset, which can drop a response that the client has not read yet. The unit is milliseconds. */
const CLOSING_TIME = 500

const closeGently = (socket: Duplex, last?: string) => {
  if (socket.destroyed) return
  socket.end(last)
  const timer = setTimeout(() => socket.destroy(), CLOSING_TIME)
  socket.once("close", () => clearTimeout(timer))
}

interface Exchange {
  readonly request?: IncomingMessage
  readonly response?: ServerResponse
}

/** The client has hung up if its bytes end within a body, or if the error is not the parser's. */
const hasHungUp = ({ code = "" }: NodeJS.ErrnoException, { request }: Exchange) =>
  code === "HPE_INVALID_EOF_STATE" ? request?.complete === false : code !== LATE && !code.startsWith("HPE_")

const requestIds = new WeakMap<object, string>()

const begunLayer = Layer.succeed(
  RequestBegun,
  (request, id) => void requestIds.set(NodeHttpServerRequest.toServerResponse(request), id)
)

/** Responds to malformed requests with the error shape of the API, after any response that has begun. */
const respondToParserErrors = Effect.fnUntraced(function*(server: Server) {
  const usual = yield* headersOfRefusals
  const record = yield* recordRefusal
  const run = Effect.runForkWith(yield* Effect.context<never>())
  /** Each connection has its last exchange here, until that is complete. */
  const exchanges = new WeakMap<Duplex, Exchange>()

  const track = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const exchange = { request, response }
    exchanges.set(socket, exchange)
    response.on("close", () => {
      if (request.complete && exchanges.get(socket) === exchange) exchanges.set(socket, {})
    })
  }

  const responseTo = (error: ServiceError, id: string) => {
    const body = JSON.stringify(encodeError(error))
    const headers = {
      "content-type": MEDIA_TYPES.json,
      "content-length": Buffer.byteLength(body),
      "connection": "close",
      [HEADERS.requestId.key]: id
    }
    return { body, headers: { ...usual, ...headers } }
  }

  const refuse = Effect.fnUntraced(function*(socket: Duplex, error: ServiceError) {
    if (!socket.writable) return
    const span = refusedSpan()
    const { body, headers } = responseTo(error, span.traceId)
    const date = DateTime.toDateUtc(yield* DateTime.now).toUTCString()
    const lines = Object.entries({ ...headers, date }).map(([name, value]) => `${name}: ${value}\r\n`)
    const status = `${error.statusCode} ${STATUS_CODES[error.statusCode]}`
    closeGently(socket, `HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${body}`)
    const remoteAddress = Option.fromUndefinedOr(socket instanceof Socket ? socket.remoteAddress : undefined)
    yield* Effect.provideService(
      record({ error, bytes: headers["content-length"], remoteAddress }),
      Tracer.ParentSpan,
      span
    )
  })

  const fail = (cause: NodeJS.ErrnoException, socket: Duplex) => {
    const exchange = exchanges.get(socket) ?? {}
    if (hasHungUp(cause, exchange)) return void socket.destroy()
    // Bytes that arrive late must not become a request.
    socket.pause()
    const { request, response } = exchange
    const end = () => request?.complete === false ? closeGently(socket) : run(refuse(socket, errorOf(cause)))
    if (response === undefined || response.writableFinished) return void end()
    if (request?.complete || response.headersSent) return void response.once("close", end)
    const { body, headers } = responseTo(incomplete(), requestIds.get(response) ?? refusedSpan().traceId)
    response.writeHead(400, headers).end(body)
    // The reader of the body still waits for more.
    socket.once("close", () => request?.destroy(cause))
  }

  // After a stall, Node checks its timeouts before it reads the bytes that arrived meanwhile.
  const failUnlessArrived = (cause: NodeJS.ErrnoException, socket: Duplex) => {
    const before = exchanges.get(socket)
    setImmediate(() => exchanges.get(socket) === before && fail(cause, socket))
  }

  server.on("request", track)
  server.on("checkContinue", track)
  server.on(
    "clientError",
    (cause: NodeJS.ErrnoException, socket) =>
      cause.code === LATE ? failUnlessArrived(cause, socket) : fail(cause, socket)
  )
  server.on("connect", (_request, socket) => {
    socket.on("error", () => undefined)
    run(refuse(socket, new NotFound({ message: "CONNECT is not offered" })))
  })
})

/**
 * `headers`, `keepAlive` (between requests) and `idle` (without any byte during a request) are in milliseconds. A proxy
 * keeps idle connections for less than `keepAlive` (usually 60 s), so that the proxy closes them. `idle` is longer than
 * the two minutes of an import.
 */
export const ConnectionTimeouts = Context.Reference<{
  readonly headers: number
  readonly keepAlive: number
  readonly idle: number
}>("route-planning-service/ConnectionTimeouts", {
  defaultValue: () => ({ headers: 5_000, keepAlive: 65_000, idle: 150_000 })
})

/** The kernel drops bursts above Node's 511, and clients retry after 1, 3 and 7 s. `net.core.somaxconn` caps it. */
const BACKLOG = 4_096

const CHECKING_INTERVAL = 1_000

const MAX_LINGER_MS = 500

const makeServer = Effect.gen(function*() {
  const timeouts = yield* ConnectionTimeouts
  const linger = Math.min(Duration.toMillis(yield* settings.SHUTDOWN_DRAIN_DELAY), MAX_LINGER_MS)
  const server = new LingeringServer({
    ServerResponse: PiecedResponse,
    // `BodyAllowance` limits the body, `headersTimeout` what comes before it.
    requestTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    // `requestFault` checks the header, so that its errors have the shape of the API.
    requireHostHeader: false,
    // A request that offers an upgrade is served as an ordinary request, with its body (RFC 9110, 7.8).
    shouldUpgradeCallback: () => false,
    headersTimeout: timeouts.headers,
    keepAliveTimeout: timeouts.keepAlive,
    connectionsCheckingInterval: Math.min(CHECKING_INTERVAL, timeouts.headers)
  }, linger)
  server.maxConnections = yield* settings.MAX_CONNECTIONS
  server.timeout = timeouts.idle
  // Node's default drops headers after the thousandth, and a second `Host` with them; the limit in bytes is enough.
  server.maxHeadersCount = 0
  yield* respondToParserErrors(server)
  // Without a listener, Node itself responds.
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

/** Serves HTTP/1.1 on Node. When the scope closes, running requests have `RUNNING_REQUESTS` to end. */
export const listenLayer = Layer.unwrap(Effect.gen(function*() {
  const node = yield* makeServer
  return Layer.effectDiscard(Effect.addFinalizer(() => closeConnections(node))).pipe(
    Layer.provideMerge(NodeHttpServer.layerConfig(() => node, {
      port: settings.PORT,
      backlog: Config.succeed(BACKLOG),
      host: settings.HOST,
      gracefulShutdownTimeout: Config.succeed(RUNNING_REQUESTS)
    })),
    Layer.merge(Layer.mergeAll(rulesLayer, begunLayer, whenSentLayer))
  )
}))
