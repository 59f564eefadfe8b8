import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { isExactPath } from "../request/RouteTemplates.ts"
import { toResponse, unknownPath } from "../response/ErrorResponse.ts"

export const exactPathsLayer = HttpRouter.middleware(
  (httpEffect) =>
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ url }) => isExactPath(url) ? httpEffect : Effect.sync(() => toResponse(unknownPath()))
    ),
  { global: true }
)
