import { Context, Effect, FileSystem, Layer, Path, type Scope, Stdio, Terminal } from "effect"
import { SecureRandom } from "effect/crypto"
import { Etag, HttpClient, HttpMiddleware, HttpPlatform, HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { RateLimiter } from "effect/persistence"
import { ChildProcessSpawner } from "effect/process"
import { SqlClient } from "effect/sql"
import { QueueLateness } from "../services/limits/ConnectionQueue.ts"
import { CounterState } from "../services/limits/RateCounters.ts"
import { RequestCounters } from "../services/limits/RunningRequests.ts"
import { Mailer } from "../services/mail/Mailer.ts"
import { Stopping } from "../services/operations/Draining.ts"
import { Places } from "../services/places/Places.ts"
import { IdentityProvider } from "../services/provider/IdentityProvider.ts"
import { RoutingEngine } from "../services/routing/RoutingEngine.ts"
import { LogFormat } from "../services/settings/LogFormat.ts"
import { DatabaseNotifications } from "../services/sql/DatabaseNotifications.ts"
import { DatabaseResponses } from "../services/sql/DatabaseResponses.ts"
import { Api } from "./api/Api.ts"
import { authenticationLayer } from "./auth/AuthenticationLayers.ts"
import { Authenticator } from "./auth/Authenticator.ts"
import { apiDocsLayer } from "./docs/ApiDocs.ts"
import { AccountDataHandlers } from "./handlers/AccountDataHandlers.ts"
import { AdminHandlers } from "./handlers/AdminHandlers.ts"
import { AuthHandlers } from "./handlers/AuthHandlers.ts"
import { CollectionsHandlers } from "./handlers/CollectionsHandlers.ts"
import { CredentialHandlers } from "./handlers/CredentialHandlers.ts"
import { FilesHandlers } from "./handlers/FilesHandlers.ts"
import { HealthHandlers } from "./handlers/HealthHandlers.ts"
import { LinksHandlers } from "./handlers/LinksHandlers.ts"
import { MetricsHandlers } from "./handlers/MetricsHandlers.ts"
import { PicturesHandlers } from "./handlers/PicturesHandlers.ts"
import { RoutesHandlers } from "./handlers/RoutesHandlers.ts"
import { RoutingHandlers } from "./handlers/RoutingHandlers.ts"
import { SessionsHandlers } from "./handlers/SessionsHandlers.ts"
import { SyncHandlers } from "./handlers/SyncHandlers.ts"
import { TokensHandlers } from "./handlers/TokensHandlers.ts"
import { UsersHandlers } from "./handlers/UsersHandlers.ts"
import { conditionalLayer } from "./middleware/Conditional.ts"
import { corsLayer } from "./middleware/Cors.ts"
import { CrossSite, sameSiteLayer } from "./middleware/CrossSite.ts"
import { deadlineLayer } from "./middleware/Deadline.ts"
import { commonFailuresLayer, errorShapeLayer, tracedFaultsLayer } from "./middleware/ErrorShape.ts"
import { exactPathsLayer } from "./middleware/ExactPaths.ts"
import { jsonBodyLayer } from "./middleware/JsonBody.ts"
import { largeResponsesLayer } from "./middleware/LargeResponses.ts"
import { noParametersLayer } from "./middleware/NoParameters.ts"
import { addressLimitLayer, clientAddressLayer, Limiter } from "./middleware/RateLimit.ts"
import { refusalLayer, TransportRules } from "./middleware/Refusal.ts"
import { requestTelemetry } from "./middleware/RequestTelemetry.ts"
import { responseHeadersLayer } from "./middleware/ResponseHeaders.ts"
import { roomForWritesLayer } from "./middleware/RoomForWrites.ts"
import { pagesLayer } from "./pages/Pages.ts"
import { Idempotency } from "./request/Idempotency.ts"
import { RequestBodies } from "./request/RequestBodies.ts"
import { ROUTER } from "./request/RouteTemplates.ts"
import { Downloads } from "./response/Downloads.ts"
import { methodNotAllowedLayer, otherMethodsLayer } from "./response/MethodNotAllowed.ts"

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

const middleware = Layer.mergeAll(
  authenticationLayer,
  addressLimitLayer,
  sameSiteLayer,
  noParametersLayer,
  jsonBodyLayer,
  commonFailuresLayer,
  deadlineLayer,
  roomForWritesLayer,
  tracedFaultsLayer
).pipe(Layer.provide(CrossSite.layer))

const api = HttpApiBuilder.layer(Api).pipe(
  Layer.provide(handlers),
  Layer.provide(middleware),
  Layer.provide([Downloads.layer, Idempotency.layer, Limiter.layer, RequestBodies.layer])
)

const docs = apiDocsLayer.pipe(Layer.provide(Limiter.layer))

const pages = pagesLayer.pipe(
  Layer.provide(Authenticator.layer),
  Layer.provide([CrossSite.layer, Limiter.layer, RequestBodies.layer])
)

const routes = Layer.mergeAll(
  errorShapeLayer,
  responseHeadersLayer,
  corsLayer,
  clientAddressLayer,
  refusalLayer,
  exactPathsLayer,
  largeResponsesLayer,
  conditionalLayer,
  otherMethodsLayer,
  api,
  docs,
  pages,
  methodNotAllowedLayer
)

/** Paths are exact: no trailing slash, no double slash, case-sensitive. */
const handler = HttpRouter.toHttpEffect(routes).pipe(Effect.provideService(HttpRouter.RouterConfig, ROUTER))

/** What responds to every request, with the services that it needs. */
export class RequestHandler extends Context.Service<RequestHandler, Effect.Success<typeof handler>>()(
  "route-planning-service/RequestHandler"
) {
  static readonly layer = Layer.effect(RequestHandler, handler)
}

/** More than the services that middleware adds to a request's context, which is copied when there are as many. */
const MAX_ADDED = 32

/** What handlers and middleware have taken in the meantime. */
const withoutTaken = Context.omit(
  ChildProcessSpawner.ChildProcessSpawner,
  CounterState,
  DatabaseNotifications,
  DatabaseResponses,
  Etag.Generator,
  FileSystem.FileSystem,
  HttpClient.HttpClient,
  HttpPlatform.HttpPlatform,
  IdentityProvider,
  Layer.CurrentMemoMap,
  LogFormat,
  Mailer,
  Path.Path,
  Places,
  QueueLateness,
  RateLimiter.RateLimiterStore,
  RequestCounters,
  RequestHandler,
  RoutingEngine,
  SecureRandom.SecureRandom,
  SqlClient.SqlClient,
  Stdio.Stdio,
  Stopping,
  Terminal.Terminal,
  TransportRules
)

type Serving = HttpServer.HttpServer | Scope.Scope

/** Runs an effect in a context of references for the most part, that may grow by that much. */
const withRoom = <A, E>(effect: Effect.Effect<A, E, Serving>) =>
  Effect.updateContext(
    effect,
    (context: Context.Context<Serving>) =>
      Context.makeUnsafe<Serving>(withoutTaken(context).mapUnsafe, { maxDepth: MAX_ADDED })
  )

/** Serves in a context without the services of the handler, since the context of each request is a copy (decision 0015). */
export const serverLayer = Layer.effectDiscard(
  Effect.gen(function*() {
    const handler = yield* RequestHandler
    return yield* withRoom(HttpServer.serveEffect(handler, yield* requestTelemetry))
  })
).pipe(
  HttpServer.withLogAddress,
  // Effect's own request span contains the path, and so share tokens.
  Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true))
)
