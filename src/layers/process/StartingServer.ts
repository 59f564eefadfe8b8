import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer, Option, Ref, Scope } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Server } from "node:http"
import { Api } from "../../http/api/Api.ts"
import { corsLayer } from "../../http/middleware/Cors.ts"
import { errorShapeLayer } from "../../http/middleware/ErrorShape.ts"
import { refusalLayer } from "../../http/middleware/Refusal.ts"
import { requestTelemetry } from "../../http/middleware/RequestTelemetry.ts"
import { responseHeadersLayer } from "../../http/middleware/ResponseHeaders.ts"
import { respond } from "../../http/response/ErrorResponse.ts"
import { otherMethodsLayer } from "../../http/response/MethodNotAllowed.ts"
import { Unavailable } from "../../schema/Errors.ts"
import { Draining } from "../../services/operations/Draining.ts"
import { host, port } from "../../services/settings/Addresses.ts"
import { makeServer, rulesLayer } from "../NodeServer.ts"
import { telemetryLayer } from "../telemetry/Telemetry.ts"
import { NotServing, Serving, Starting, type Waiting } from "./Starting.ts"

const NOT_READY = Unavailable.retryAfter("The service is starting: it waits for the database", Duration.seconds(1))

const { live } = Api.groups.health.endpoints

const isForLive = ({ method, url }: HttpServerRequest.HttpServerRequest) =>
  url === live.path && (method === live.method || method === "HEAD")

const routeLayer = HttpRouter.add(
  "*",
  "*",
  Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    (request) =>
      isForLive(request) ? Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })) : respond(NOT_READY)
  )
)

/** Responses have the headers, the shape and the log line of those of the service. */
const handler = HttpRouter.toHttpEffect(
  Layer.mergeAll(
    errorShapeLayer,
    responseHeadersLayer,
    corsLayer,
    refusalLayer,
    otherMethodsLayer,
    routeLayer
  ).pipe(Layer.provide(Draining.layer))
)

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
  const onRequest = yield* NodeHttpServer.makeHandler(yield* handler, {
    middleware: yield* requestTelemetry,
    scope: yield* Effect.scope
  })
  server.on("request", onRequest)
  yield* Effect.sync(() => process.send?.(NotServing.make({})))
  yield* listen(server, address)
  const waiting: Waiting = {
    server,
    release: () => {
      server.off("request", onRequest)
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
    const context = yield* Effect.context<Effect.Services<typeof begin>>()
    const begun = yield* begin.pipe(
      Effect.provideService(Scope.Scope, scope),
      Effect.flatMap((begun) => Ref.set(waiting, Option.some(begun))),
      Effect.provide(context),
      Effect.orDie,
      Effect.uninterruptible,
      Effect.cached
    )
    return { begin: begun, waiting: Ref.get(waiting) }
  })
).pipe(
  Layer.provide(rulesLayer),
  // Effect's own request span contains the path, and so share tokens.
  Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)),
  Layer.provide(telemetryLayer)
)
