import { IncomingMessage, type Server, ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { HeadersTooLarge, NotFound, RequestTimeout, type ServiceError, ValidationFailed } from "../schema/Errors.ts"
import { closeGently } from "./ClosingSockets.ts"

export const MAX_HEADER_BYTES = 16 * 1024

/** Also one that expects `100-continue`. */
export const onEveryRequest = (
  server: Server,
  listener: (request: IncomingMessage, response: ServerResponse) => void
): void => void server.on("request", listener).on("checkContinue", listener)

const errorOf = (cause: NodeJS.ErrnoException): ServiceError => {
  switch (cause.code) {
    case "HPE_HEADER_OVERFLOW":
      return new HeadersTooLarge({
        message: `The request line and headers may have at most ${MAX_HEADER_BYTES} bytes`,
        details: { limitBytes: MAX_HEADER_BYTES }
      })
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new RequestTimeout({ message: "The request line and headers did not arrive in time" })
    default:
      // The parser's messages are constants: they contain nothing of the request.
      return ValidationFailed.at(
        "",
        `The request is not well-formed HTTP/1.1: ${cause.message.replace("Parse Error: ", "")}`
      )
  }
}

const unread = new WeakMap<IncomingMessage, ServiceError>()

export const parserFault = (request: IncomingMessage): ServiceError | undefined => unread.get(request)

/** Emits a request that carries the error: response, headers, log line and metrics are those of any other. */
const respond = (server: Server, socket: Socket, error: ServiceError) => {
  if (!socket.writable) return void socket.destroy()
  const request = new IncomingMessage(socket)
  request.method = "NONE"
  request.url = "/"
  request.httpVersion = "1.1"
  unread.set(request, error)
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.on("finish", () => closeGently(socket))
  server.emit("request", request, response)
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface Connection {
  requests: number
  /** The last one, until it is complete. */
  exchange: Exchange | undefined
}

const failBody = ({ request, response }: Exchange, cause: Error) => {
  const { socket } = request
  socket.destroySoon = () => closeGently(socket)
  response.shouldKeepAlive = false
  request.on("error", () => undefined)
  request._destroy = (error, done) => done(error)
  request.destroy(cause)
}

const isBodyOf = ({ request }: Exchange) => !request.complete

/** The client hung up. Bytes that end within a body look the same. */
const isGone = (cause: NodeJS.ErrnoException, exchange: Exchange | undefined) =>
  cause.code === "HPE_INVALID_EOF_STATE"
    ? exchange !== undefined && isBodyOf(exchange)
    : cause.code !== "ERR_HTTP_REQUEST_TIMEOUT" && !cause.code?.startsWith("HPE_")

export const respondToParserErrors = (server: Server): void => {
  const connections = new WeakMap<Duplex, Connection>()
  const failed = new WeakSet<Duplex>()

  const onError = (cause: NodeJS.ErrnoException, socket: Socket) => {
    const exchange = connections.get(socket)?.exchange
    if (isGone(cause, exchange)) return socket.destroy()
    // Bytes that arrive late must not become a request.
    if (cause.code === "ERR_HTTP_REQUEST_TIMEOUT") socket.pause()
    if (exchange === undefined || exchange.response.writableFinished && !isBodyOf(exchange)) {
      return respond(server, socket, errorOf(cause))
    }
    if (exchange.response.writableFinished) return closeGently(socket)
    if (isBodyOf(exchange) && !exchange.response.headersSent) return failBody(exchange, cause)
    exchange.response.once(
      "close",
      () => isBodyOf(exchange) ? closeGently(socket) : respond(server, socket, errorOf(cause))
    )
  }

  onEveryRequest(server, (request, response) => {
    if (unread.has(request)) return
    const connection = connections.get(request.socket) ?? { requests: 0, exchange: undefined }
    const exchange = { request, response }
    connection.requests++
    connection.exchange = exchange
    connections.set(request.socket, connection)
    response.on("close", () => {
      if (connection.exchange === exchange && request.complete) connection.exchange = undefined
    })
  })
  const fail = (cause: NodeJS.ErrnoException, socket: Duplex) => {
    if (failed.has(socket)) return
    failed.add(socket)
    if (socket instanceof Socket) onError(cause, socket)
    else socket.destroy()
  }

  // A process that was busy for longer looks at its clock before it reads what has arrived meanwhile.
  const failUnlessArrived = (cause: NodeJS.ErrnoException, socket: Duplex) => {
    const requests = () => connections.get(socket)?.requests
    const before = requests()
    setImmediate(() => requests() === before && fail(cause, socket))
  }

  server.on(
    "clientError",
    (cause: NodeJS.ErrnoException, socket) =>
      cause.code === "ERR_HTTP_REQUEST_TIMEOUT" ? failUnlessArrived(cause, socket) : fail(cause, socket)
  )
  server.on("connect", ({ socket }) => {
    socket.on("error", () => undefined)
    respond(server, socket, new NotFound({ message: "CONNECT is not offered" }))
  })
}
