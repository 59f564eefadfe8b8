import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Console, Context, Effect, Layer, Option, References, type Scope } from "effect"
import { FetchHttpClient, HttpEffect, HttpServer, HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"
import { withJoinedBody } from "../http/request/BodyPieces.ts"

type Handle = (request: Request) => Promise<Response>

export class WebHandler extends Context.Service<WebHandler, {
  readonly handle: Handle
}>()("route-planning-service/WebHandler") {}

const LOOPBACK = "127.0.0.1"

const fromLoopback = Effect.updateService(
  HttpServerRequest.HttpServerRequest,
  (request) => request.modify({ remoteAddress: Option.some(LOOPBACK) })
)

const toHandle = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>

/** Replaces `httpServerLive` without a socket: no limits or timeouts of connections, no errors of Node's parser. */
export const inProcessServerLayer = Layer.effectContext(Effect.sync(() => {
  const served = Promise.withResolvers<Handle>()
  const server = HttpServer.make({
    address: NetAddress.inetAddressFromIpStringUnsafe(LOOPBACK, 0),
    serve: (httpEffect, middleware) =>
      Effect.map(
        Effect.context<never>(),
        (context) => served.resolve(toHandle(context)(Effect.map(fromLoopback(httpEffect), withJoinedBody), middleware))
      )
  })
  const handle: Handle = (request) => served.promise.then((handle) => handle(request))
  return Context.make(HttpServer.HttpServer, server).pipe(Context.add(WebHandler, { handle }))
})).pipe(Layer.provideMerge(NodeHttpServer.layerHttpServices))

export const inProcessClientLayer = FetchHttpClient.layer.pipe(
  Layer.provide(
    Layer.effect(
      FetchHttpClient.Fetch,
      Effect.map(WebHandler, ({ handle }): typeof fetch => (input, init) => handle(new Request(input, init)))
    )
  )
)

/** Prints errors, such as the cause of a 500, where a test would swallow the log. */
export const printedErrorsLayer = Layer.merge(
  Layer.sync(Console.Console, () => globalThis.console),
  Layer.succeed(References.MinimumLogLevel, "Error")
)
