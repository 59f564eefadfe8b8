import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { NotFound } from "../../schema/Errors.ts"
import { RouteIdFromPath, RouteRef } from "../../schema/Ids.ts"
import { PageQuery } from "../../schema/Page.ts"
import { NewRoute, Route, RoutePatch } from "../../schema/Route.ts"
import { Authentication, OptionalAuthentication } from "./Authentication.ts"
import { BodyLimit, JsonBody, ROUTE_BODY_LIMIT } from "./Requests.ts"
import { Success } from "./Success.ts"

export class RoutesApi extends HttpApiGroup.make("routes")
  .add(
    HttpApiEndpoint.get("list", "/", { query: PageQuery, success: Schema.Array(Route) }).annotate(
      OpenApi.Description,
      "The caller's routes of every visibility, newest first. `X-Total-Count` has their number, `Link` the other pages."
    ),
    HttpApiEndpoint.post("create", "/", { payload: NewRoute, success: Route.pipe(HttpApiSchema.status("Created")) })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(
        OpenApi.Description,
        "Stores a route. Its place is derived from its first position; `distance` (metres) from `geometry` if absent."
      ),
    HttpApiEndpoint.patch("update", "/:id", {
      params: { id: RouteIdFromPath },
      payload: RoutePatch,
      success: Route,
      error: NotFound
    }).annotate(BodyLimit, ROUTE_BODY_LIMIT).annotate(
      OpenApi.Description,
      "Changes the members that the body names; `null` clears an optional one."
    ),
    HttpApiEndpoint.delete("remove", "/:id", {
      params: { id: RouteIdFromPath },
      success: Success,
      error: NotFound
    }).annotate(OpenApi.Description, "Deletes a route: it is gone for everyone at once.")
  )
  .middleware(JsonBody)
  .middleware(Authentication)
  .add(
    HttpApiEndpoint.get("get", "/:ref", { params: { ref: RouteRef }, success: Route, error: NotFound })
      .middleware(OptionalAuthentication)
      .annotate(
        OpenApi.Description,
        "By id: the owner's own routes, and public ones. By share token (32 hex digits): public and unlisted ones."
      )
  )
  .prefix("/routes")
  .annotate(OpenApi.Description, "Planned routes.")
{}
