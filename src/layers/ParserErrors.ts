import { DateTime, Effect } from "effect"
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { HEADERS } from "../http/api/Headers.ts"
import { corsHeaders } from "../http/middleware/Cors.ts"
import { recordRefusal } from "../http/middleware/RequestTelemetry.ts"
import { defaultHeaders } from "../http/middleware/ResponseHeaders.ts"
import { incomplete } from "../http/request/Body.ts"
import { encodeError } from "../http/response/ErrorResponse.ts"
import { HeadersTooLarge, NotFound, RequestTimeout, type ServiceError, ValidationFailed } from "../schema/Errors.ts"
import { MEDIA_TYPES } from "../schema/MediaTypes.ts"

export const MAX_HEADER_BYTES = 16 * 1024

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
        "",
        `The request is not well-formed HTTP/1.1: ${cause.message.replace("Parse Error: ", "")}`
      )
  }
}

/** In milliseconds: unread bytes cause a reset, which can drop a response that the client has not read yet. */
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

/** The client has hung up where its bytes end within a body, and with every error that is not the parser's. */
const hasHungUp = ({ code = "" }: NodeJS.ErrnoException, { request }: Exchange) =>
  code === "HPE_INVALID_EOF_STATE" ? request?.complete === false : code !== LATE && !code.startsWith("HPE_")

/** Responds in the one shape of errors to what is no request. A response that has begun comes first. */
export const respondToParserErrors = Effect.fnUntraced(function*(server: Server) {
  const cors = yield* corsHeaders
  const usual = { ...yield* defaultHeaders, ...cors.headersFor({}), [HEADERS.vary.key]: cors.varies.join(", ") }
  const record = yield* recordRefusal
  const run = Effect.runForkWith(yield* Effect.context<never>())
  /** The last exchange of each connection, until it is complete. */
  const exchanges = new WeakMap<Duplex, Exchange>()

  const track = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const exchange = { request, response }
    exchanges.set(socket, exchange)
    response.on("close", () => {
      if (request.complete && exchanges.get(socket) === exchange) exchanges.set(socket, {})
    })
  }

  const responseTo = (error: ServiceError) => {
    const body = JSON.stringify(encodeError(error))
    const headers = {
      "content-type": MEDIA_TYPES.json,
      "content-length": Buffer.byteLength(body),
      "connection": "close"
    }
    return { body, headers: { ...usual, ...headers } }
  }

  const refuse = Effect.fnUntraced(function*(socket: Duplex, error: ServiceError) {
    if (!socket.writable) return
    const { body, headers } = responseTo(error)
    const date = DateTime.toDateUtc(yield* DateTime.now).toUTCString()
    const lines = Object.entries({ ...headers, date }).map(([name, value]) => `${name}: ${value}\r\n`)
    const status = `${error.statusCode} ${STATUS_CODES[error.statusCode]}`
    closeGently(socket, `HTTP/1.1 ${status}\r\n${lines.join("")}\r\n${body}`)
    yield* record(error.statusCode, headers["content-length"])
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
    const { body, headers } = responseTo(incomplete())
    response.writeHead(400, headers).end(body)
    // The reader of the body still waits for more.
    socket.once("close", () => request?.destroy(cause))
  }

  // A process that was busy for longer looks at its clock before it reads what has arrived meanwhile.
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
