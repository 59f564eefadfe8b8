import { Context, Effect, Exit, Layer, Ref, Scope } from "effect"
import { HttpMiddleware, HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "./api/Api.ts"
import { authenticationLayer } from "./auth/Admission.ts"
import { Authenticator } from "./auth/Authenticator.ts"
import { AccountDataHandlers } from "./handlers/AccountDataHandlers.ts"
import { AdminHandlers } from "./handlers/AdminHandlers.ts"
import { AuthHandlers } from "./handlers/AuthHandlers.ts"
import { CollectionsHandlers } from "./handlers/CollectionsHandlers.ts"
import { FilesHandlers } from "./handlers/FilesHandlers.ts"
import { HealthHandlers } from "./handlers/HealthHandlers.ts"
import { LinksHandlers } from "./handlers/LinksHandlers.ts"
import { MetricsHandlers } from "./handlers/MetricsHandlers.ts"
import { PicturesHandlers } from "./handlers/PicturesHandlers.ts"
import { RoutesHandlers } from "./handlers/RoutesHandlers.ts"
import { RoutingHandlers } from "./handlers/RoutingHandlers.ts"
import { SessionsHandlers } from "./handlers/SessionsHandlers.ts"
import { SyncHandlers } from "./handlers/SyncHandlers.ts"
import { CredentialHandlers, TokensHandlers } from "./handlers/TokensHandlers.ts"
import { UsersHandlers } from "./handlers/UsersHandlers.ts"
import { CrossSite, sameSiteLayer } from "./middleware/CrossSite.ts"
import { deadlineLayer } from "./middleware/Deadline.ts"
import {
  commonFailuresLayer,
  errorShapeLayer,
  exactPathsLayer,
  noParametersLayer,
  refusalLayer,
  shadowedPathsLayer,
  tracedFaultsLayer
} from "./middleware/ErrorShape.ts"
import { gateLayer } from "./middleware/Gate.ts"
import { jsonBodyLayer } from "./middleware/JsonBody.ts"
import { largeResponsesLayer } from "./middleware/LargeResponses.ts"
import { addressLimitLayer, Limiter, proxyWarningLayer } from "./middleware/RateLimit.ts"
import { requestTelemetry } from "./middleware/RequestTelemetry.ts"
import { conditionalLayer, responseHeadersLayer } from "./middleware/ResponseHeaders.ts"
import { strangersLayer } from "./middleware/Strangers.ts"
import { apiDocsLayer } from "./pages/ApiDocs.ts"
import { pagesLayer } from "./pages/Pages.ts"
import { providerSignInLayer } from "./pages/ProviderSignInPages.ts"
import { startingLayer } from "./pages/Starting.ts"
import { Idempotency } from "./request/Idempotency.ts"
import { RequestBodies } from "./request/RequestBodies.ts"
import { ROUTER } from "./request/RouteTemplates.ts"
import { Downloads } from "./response/Downloads.ts"

const handlers = Layer.mergeAll(
  AccountDataHandlers,
  AdminHandlers,
  AuthHandlers,
  CollectionsHandlers,
  FilesHandlers,
  HealthHandlers,
  LinksHandlers,
  MetricsHandlers,
  PicturesHandlers,
  RoutesHandlers,
  RoutingHandlers,
  CredentialHandlers,
  SessionsHandlers,
  SyncHandlers,
  TokensHandlers,
  UsersHandlers
).pipe(Layer.provide(Authenticator.layer), Layer.provide(CrossSite.layer))

/** An endpoint has the middleware that it, its group and `Api.ts` declare: the last declared is the outermost. */
const endpointMiddleware = Layer.mergeAll(
  authenticationLayer,
  addressLimitLayer,
  sameSiteLayer,
  noParametersLayer,
  jsonBodyLayer,
  commonFailuresLayer,
  deadlineLayer,
  tracedFaultsLayer
).pipe(Layer.provide(CrossSite.layer))

const api = HttpApiBuilder.layer(Api).pipe(
  Layer.provide(handlers),
  Layer.provide(endpointMiddleware),
  Layer.provide([Downloads.layer, Idempotency.layer, Limiter.layer, RequestBodies.layer])
)

const docs = apiDocsLayer.pipe(Layer.provide(Limiter.layer))

const pages = Layer.merge(pagesLayer, providerSignInLayer).pipe(
  Layer.provide(Authenticator.layer),
  Layer.provide([CrossSite.layer, Limiter.layer, RequestBodies.layer])
)

const routes = Layer.mergeAll(api, docs, pages, shadowedPathsLayer)

/** The router runs middleware in the order in which their layers are built. */
const followedBy = <E, R>(next: Layer.Layer<never, E, R>) => <E2, R2>(before: Layer.Layer<never, E2, R2>) =>
  Layer.provideMerge(next, before)

/** Runs around every request in this order. `requestTelemetry` is outside of them all, until the response is sent. */
const globalMiddleware = errorShapeLayer.pipe(
  followedBy(responseHeadersLayer),
  followedBy(gateLayer),
  followedBy(proxyWarningLayer),
  followedBy(refusalLayer),
  followedBy(exactPathsLayer),
  followedBy(strangersLayer),
  followedBy(largeResponsesLayer),
  followedBy(conditionalLayer)
)

/** Paths are exact: no trailing slash, no double slash, case-sensitive. */
const handlerOf = <E, R>(routes: Layer.Layer<never, E, R>) =>
  HttpRouter.toHttpEffect(Layer.merge(globalMiddleware, routes)).pipe(
    Effect.provideService(HttpRouter.RouterConfig, ROUTER)
  )

const handler = handlerOf(routes)

export class RequestHandler extends Context.Service<RequestHandler, Effect.Success<typeof handler>>()(
  "route-planning-service/RequestHandler"
) {
  static readonly layer = Layer.effect(RequestHandler, handler)
}

/** Listens and responds from the start, first that the service is starting. */
export class Listening extends Context.Service<Listening, {
  /** Responds by this handler from now on. Running requests end before the scope has closed. */
  readonly begin: (handler: RequestHandler["Service"]) => Effect.Effect<void, never, Scope.Scope>
}>()("route-planning-service/Listening") {
  static readonly layer = Layer.effect(
    Listening,
    Effect.gen(function*() {
      const current = yield* Ref.make<RequestHandler["Service"]>(yield* handlerOf(startingLayer))
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* Scope.provide(HttpServer.serveEffect(Effect.flatten(Ref.get(current)), yield* requestTelemetry), scope)
      return Listening.of({
        begin: (handler) => Effect.acquireRelease(Ref.set(current, handler), () => Scope.close(scope, Exit.void))
      })
    })
  ).pipe(
    HttpServer.withLogAddress,
    // Effect's own request span contains the path, and so share tokens.
    Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true))
  )
}

export const serverLayer = Layer.effectDiscard(Effect.gen(function*() {
  const { begin } = yield* Listening
  yield* begin(yield* RequestHandler)
}))
