import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "./api/Api.ts"
import { AccountDataHandlers } from "./handlers/AccountDataHandlers.ts"
import { AuthHandlers } from "./handlers/AuthHandlers.ts"
import { CollectionsHandlers } from "./handlers/CollectionsHandlers.ts"
import { FilesHandlers } from "./handlers/FilesHandlers.ts"
import { HealthHandlers } from "./handlers/HealthHandlers.ts"
import { RoutesHandlers } from "./handlers/RoutesHandlers.ts"
import { RoutingHandlers } from "./handlers/RoutingHandlers.ts"
import { SessionsHandlers } from "./handlers/SessionsHandlers.ts"
import { TokensHandlers } from "./handlers/TokensHandlers.ts"
import { UsersHandlers } from "./handlers/UsersHandlers.ts"
import { Idempotency } from "./Idempotency.ts"
import { methodNotAllowedLayer } from "./MethodNotAllowed.ts"
import { answerHeadersLayer } from "./middleware/AnswerHeaders.ts"
import { authenticationLayer } from "./middleware/Authentication.ts"
import { corsLayer, CrossSite, sameSiteLayer } from "./middleware/CrossSite.ts"
import { deadlineLayer } from "./middleware/Deadline.ts"
import { commonFailuresLayer, errorShapeLayer } from "./middleware/ErrorShape.ts"
import { jsonBodyLayer } from "./middleware/JsonBody.ts"
import { addressLimitLayer, clientAddressLayer, Limiter } from "./middleware/RateLimit.ts"

const handlers = Layer.mergeAll(
  AccountDataHandlers,
  AuthHandlers,
  CollectionsHandlers,
  FilesHandlers,
  HealthHandlers,
  RoutesHandlers,
  RoutingHandlers,
  SessionsHandlers,
  TokensHandlers,
  UsersHandlers
)

const middleware = Layer.mergeAll(
  authenticationLayer,
  addressLimitLayer,
  sameSiteLayer,
  jsonBodyLayer,
  commonFailuresLayer,
  deadlineLayer
).pipe(Layer.provide(CrossSite.layer))

const api = HttpApiBuilder.layer(Api).pipe(
  Layer.provide(handlers),
  Layer.provide(middleware),
  Layer.provide([Idempotency.layer, Limiter.layer])
)

const routes = Layer.mergeAll(
  errorShapeLayer,
  answerHeadersLayer,
  corsLayer,
  clientAddressLayer,
  api,
  methodNotAllowedLayer
)

/** The whole contract on an `HttpServer`. Paths are exact: no trailing slash, no double slash, no other case. */
export const serverLayer = HttpRouter.serve(routes, {
  disableLogger: true,
  routerConfig: { ignoreTrailingSlash: false, ignoreDuplicateSlashes: false, caseSensitive: true }
})
