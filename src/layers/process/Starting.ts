import { Context, Duration, Effect, Exit, Layer, Schema, Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Unavailable } from "../../schema/Errors.ts"
import { host, port } from "../../services/Addresses.ts"

/** What a worker sends before it listens only to say that it is not ready. */
export const NotServing = Schema.TaggedStruct("NotServing", {})

/** Responds in place of the service for as long as the start waits for something. */
export const Starting = Context.Reference<{
  /** Listens: `/health/live` is 200 and everything else 503. */
  readonly begin: Effect.Effect<void>
  /** Leaves the port to the service. */
  readonly end: Effect.Effect<void>
}>("route-planning-service/Starting", { defaultValue: () => ({ begin: Effect.void, end: Effect.void }) })

const RETRY_AFTER = Duration.seconds(1)

const NOT_READY = Unavailable.retryAfter("The service is starting: it waits for the database", RETRY_AFTER)

const LIVE_PATH = "/health/live"

const HEADERS = { "content-type": "application/json", "cache-control": "no-store", connection: "close" }

const respond = (request: IncomingMessage, response: ServerResponse) => {
  request.resume()
  if (request.url === LIVE_PATH && (request.method === "GET" || request.method === "HEAD")) {
    return response.writeHead(200, HEADERS).end(JSON.stringify({ status: "ok" }))
  }
  return response
    .writeHead(NOT_READY.statusCode, { ...HEADERS, "retry-after": String(Duration.toSeconds(RETRY_AFTER)) })
    .end(JSON.stringify(Schema.encodeSync(Unavailable)(NOT_READY)))
}

const listen = Effect.gen(function*() {
  const address = { host: yield* host, port: yield* port }
  yield* Effect.sync(() => process.send?.(NotServing.make({})))
  yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>, Error>((resume) => {
      const server = createServer(respond)
      server.once("error", (error) => resume(Effect.fail(error)))
      server.listen(address, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
})

export const startingLayer = Layer.effect(
  Starting,
  Effect.gen(function*() {
    const scope = yield* Scope.fork(yield* Effect.scope)
    return {
      begin: Effect.orDie(Scope.provide(listen, scope)),
      end: Scope.close(scope, Exit.void)
    }
  })
)
