import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { RouteIdFromPath, RouteRef, UserIdFromPath } from "../../schema/Ids.ts"
import { GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import { listQuery, ONLY_KNOWN } from "../../schema/Page.ts"
import { ListingQuery } from "../../schema/PublicListing.ts"
import { NewRoute, Route, RoutePatch } from "../../schema/Route.ts"
import { AddressLimit, RequiredScope, Tier } from "./Access.ts"
import { CallerAuthentication, OptionalAuthentication, StaleCookie } from "./Authentication.ts"
import {
  BodyLimit,
  BOUNDED_PAGE,
  ConfirmHeader,
  FormQuery,
  IdempotencyHeader,
  JsonBody,
  LongBodies,
  MatchHeader,
  NoneMatchHeader,
  PAGED,
  ROUTE_BODY_LIMIT
} from "./Requests.ts"
import { Success } from "./Success.ts"

export class RoutesApi extends HttpApiGroup.make("routes")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery(FormQuery), success: Schema.Array(Route) }).annotate(
      HttpApi.QueryParseOptions,
      ONLY_KNOWN
    )
      .annotate(RequiredScope, "read").annotate(OpenApi.Summary, "List own routes").annotate(
        OpenApi.Description,
        "The caller's routes of every visibility, newest first. `X-Total-Count` has their number, `Link` the other pages. "
          + BOUNDED_PAGE
      ),
    HttpApiEndpoint.post("create", "/", {
      headers: { ...ConfirmHeader, ...IdempotencyHeader },
      payload: NewRoute,
      success: Route.pipe(HttpApiSchema.status("Created")),
      error: [Conflict, PreconditionRequired]
    })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT).annotate(LongBodies, "newRoute")
      .annotate(OpenApi.Summary, "Store a route").annotate(
        OpenApi.Description,
        "Stores a route. Its place is derived from its first position; `distance` (metres) from the line if absent, "
          + "`elevationGain` (metres) from its elevations, and `duration` (seconds) from the timestamps of the "
          + "waypoints. The line is `geometry`, or `polyline6` in place of it: what the routing proxy responds, as it "
          + "is. The gain is the sum of the climbs of at least 3 m in elevations that are averaged over 50 m of line "
          + "on either side. A personal access token that makes it public must confirm."
      ),
    HttpApiEndpoint.patch("update", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params: { id: RouteIdFromPath },
      payload: RoutePatch,
      success: Route,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotate(BodyLimit, ROUTE_BODY_LIMIT).annotate(LongBodies, "routePatch").annotate(
      OpenApi.Summary,
      "Change a route"
    )
      .annotate(
        OpenApi.Description,
        "Changes the members that the body names; `null` clears an optional one. `polyline6` may stand in place of "
          + "`geometry`; a line without a `distance` is measured again, as on create; without a geometry (`null`) "
          + "there is no distance, unless the body has one. A personal access token that makes a route public must "
          + "confirm."
      ),
    HttpApiEndpoint.delete("remove", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params: { id: RouteIdFromPath },
      success: Success,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotate(OpenApi.Summary, "Delete a route").annotate(
      OpenApi.Description,
      "Deletes a route: it is gone for everyone at once. A personal access token must confirm."
    )
  )
  .add(
    HttpApiEndpoint.post("restore", "/:id/restore", {
      headers: ConfirmHeader,
      params: { id: RouteIdFromPath },
      success: Route,
      error: [NotFound, PreconditionRequired]
    }).annotate(OpenApi.Summary, "Restore a deleted route").annotate(
      OpenApi.Description,
      `Restores a deleted route as it was, within ${
        inWords(GRACE_PERIOD)
      }. A personal access token must confirm where the route was `
        + "public, since it is public again."
    )
  )
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .add(
    HttpApiEndpoint.get("get", "/:ref", {
      headers: NoneMatchHeader,
      params: { ref: RouteRef },
      query: FormQuery,
      success: Route,
      error: NotFound
    })
      .middleware(OptionalAuthentication)
      .annotate(OpenApi.Summary, "Open a route").annotate(
        OpenApi.Description,
        "By id: the owner's own routes, and public ones. By share token (32 hex digits): public and unlisted ones."
      )
  )
  .annotateEndpoints(Tier, "moderate")
  .add(
    HttpApiEndpoint.get("listDeleted", "/deleted", {
      query: listQuery(FormQuery),
      success: Schema.Array(Route)
    }).annotate(HttpApi.QueryParseOptions, ONLY_KNOWN).middleware(CallerAuthentication).annotate(RequiredScope, "read")
      .annotate(OpenApi.Summary, "List deleted routes")
      .annotate(
        OpenApi.Description,
        `The caller's deleted routes, newest deletion first. They can be restored for 30 days. ${BOUNDED_PAGE}`
      ),
    HttpApiEndpoint.get("listPublic", "/public", { query: ListingQuery, success: Schema.Array(Route) }).annotate(
      HttpApi.QueryParseOptions,
      ONLY_KNOWN
    )
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotate(OpenApi.Summary, "Find public routes").annotate(
        OpenApi.Description,
        "Public routes. `gate=indexable` (default): those with a place, a name, 20 positions and 500 m or more, of an owner "
          + "with a proven address, newest-updated first. `gate=public`: all, newest-published first. `bbox` is "
          + "minLng,minLat,maxLng,maxLat; minLng greater than maxLng crosses the antimeridian. Distances are in metres. "
          + "`geometry` is `full` with `gate=indexable` and `simplified` with `gate=public` if absent. `X-Total-Count` is "
          + "exact; it may be up to 5 seconds old. "
          + BOUNDED_PAGE
      ),
    HttpApiEndpoint.get("listByUser", "/by-user/:userId", {
      params: { userId: UserIdFromPath },
      query: listQuery(FormQuery),
      success: Schema.Array(Route),
      error: NotFound
    }).annotate(HttpApi.QueryParseOptions, ONLY_KNOWN).middleware(StaleCookie).middleware(AddressLimit).annotate(
      OpenApi.Summary,
      "List a user's public routes"
    )
      .annotate(
        OpenApi.Description,
        `A user's public routes, newest-published first. ${PAGED} ${BOUNDED_PAGE} 404 for a user who does not exist `
          + "or is pending deletion."
      )
  )
  .prefix("/routes")
  .annotate(OpenApi.Title, "Routes")
  .annotate(OpenApi.Description, "Planned routes.")
{}
