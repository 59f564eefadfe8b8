import { Duration, Effect, Layer, Option, Ref, Schema, Scope } from "effect"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { HEADERS } from "../../http/api/Headers.ts"
import { Unavailable } from "../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { host, port } from "../../services/settings/Addresses.ts"
import { makeServer } from "../NodeServer.ts"
import { NotServing, Serving, Starting, type Waiting } from "./Starting.ts"

const RETRY_AFTER = Duration.seconds(1)

const NOT_READY = Unavailable.retryAfter("The service is starting: it waits for the database", RETRY_AFTER)

const LIVE_PATH = "/health/live"

const RESPONSE_HEADERS = { "content-type": MEDIA_TYPES.json, "cache-control": "no-store", connection: "close" }

const respond = (request: IncomingMessage, response: ServerResponse) => {
  request.resume()
  if (request.url === LIVE_PATH && (request.method === "GET" || request.method === "HEAD")) {
    return response.writeHead(200, RESPONSE_HEADERS).end(JSON.stringify({ status: "ok" }))
  }
  return response
    .writeHead(NOT_READY.statusCode, {
      ...RESPONSE_HEADERS,
      [HEADERS.retryAfter.key]: String(Duration.toSeconds(RETRY_AFTER))
    })
    .end(JSON.stringify(Schema.encodeSync(Unavailable)(NOT_READY)))
}

const listen = (server: Server, address: { readonly host: string; readonly port: number }) =>
  Effect.callback<void, Error>((resume) => {
    const fail = (error: Error) => resume(Effect.fail(error))
    server.once("error", fail)
    server.listen(address, () => {
      server.off("error", fail)
      resume(Effect.void)
    })
  })

const close = (server: Server) =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

const begin = Effect.gen(function*() {
  const address = { host: yield* host, port: yield* port }
  const server = yield* Effect.acquireRelease(makeServer, close)
  server.on("request", respond)
  yield* Effect.sync(() => process.send?.(NotServing.make({})))
  yield* listen(server, address)
  const waiting: Waiting = {
    server,
    release: () => {
      server.off("request", respond)
      process.send?.(Serving.make({}))
    }
  }
  return waiting
})

/** The service reuses the server: closing it would reset connections that are not accepted yet. */
export const startingLayer = Layer.effect(
  Starting,
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const waiting = yield* Ref.make(Option.none<Waiting>())
    return {
      begin: begin.pipe(
        Effect.provideService(Scope.Scope, scope),
        Effect.flatMap((begun) => Ref.set(waiting, Option.some(begun))),
        Effect.orDie
      ),
      waiting: Ref.get(waiting)
    }
  })
)
