import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { toResponse, unknownPath } from "../ErrorResponse.ts"
import { isExactPath } from "../RouteTemplates.ts"

/** Another spelling of a path is an unknown path, whatever the method. */
export const exactPathsLayer = HttpRouter.middleware(
  (httpEffect) =>
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ url }) => isExactPath(url) ? httpEffect : Effect.sync(() => toResponse(unknownPath()))
    ),
  { global: true }
)
