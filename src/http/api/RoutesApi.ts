import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { RouteIdFromPath, RouteRef } from "../../schema/Ids.ts"
import { PageQuery } from "../../schema/Page.ts"
import { NewRoute, Route, RoutePatch } from "../../schema/Route.ts"
import { RequiredScope, Tier } from "./Access.ts"
import { Authentication, OptionalAuthentication } from "./Authentication.ts"
import { BodyLimit, ConfirmHeader, JsonBody, ROUTE_BODY_LIMIT } from "./Requests.ts"
import { Success } from "./Success.ts"

export class RoutesApi extends HttpApiGroup.make("routes")
  .add(
    HttpApiEndpoint.get("list", "/", { query: PageQuery, success: Schema.Array(Route) })
      .annotate(RequiredScope, "read").annotate(
        OpenApi.Description,
        "The caller's routes of every visibility, newest first. `X-Total-Count` has their number, `Link` the other pages."
      ),
    HttpApiEndpoint.post("create", "/", {
      headers: ConfirmHeader,
      payload: NewRoute,
      success: Route.pipe(HttpApiSchema.status("Created")),
      error: PreconditionRequired
    })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(
        OpenApi.Description,
        "Stores a route. Its place is derived from its first position; `distance` (metres) from `geometry` if absent. A "
          + "personal access token that makes it public must confirm."
      ),
    HttpApiEndpoint.patch("update", "/:id", {
      headers: ConfirmHeader,
      params: { id: RouteIdFromPath },
      payload: RoutePatch,
      success: Route,
      error: [NotFound, PreconditionRequired]
    }).annotate(BodyLimit, ROUTE_BODY_LIMIT).annotate(
      OpenApi.Description,
      "Changes the members that the body names; `null` clears an optional one. A personal access token that makes a "
        + "route public must confirm."
    ),
    HttpApiEndpoint.delete("remove", "/:id", {
      headers: ConfirmHeader,
      params: { id: RouteIdFromPath },
      success: Success,
      error: [NotFound, PreconditionRequired]
    }).annotate(
      OpenApi.Description,
      "Deletes a route: it is gone for everyone at once. A personal access token must confirm."
    )
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
  .annotateEndpoints(Tier, "moderate")
  .prefix("/routes")
  .annotate(OpenApi.Description, "Planned routes.")
{}
