import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Addition, Collection, CollectionPatch, NewCollection, RouteIds } from "../../schema/Collection.ts"
import { Conflict, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { CollectionIdFromPath, CollectionRef, RouteIdFromPath, UserIdFromPath } from "../../schema/Ids.ts"
import { listQuery, ONLY_KNOWN } from "../../schema/Page.ts"
import { Route } from "../../schema/Route.ts"
import { AddressLimit, RequiredScope, Tier } from "./Access.ts"
import { CallerAuthentication, OptionalAuthentication, StaleCookie } from "./Authentication.ts"
import {
  BOUNDED_PAGE,
  ConfirmHeader,
  FormQuery,
  IdempotencyHeader,
  JsonBody,
  MatchHeader,
  NoneMatchHeader,
  PAGED
} from "./Requests.ts"
import { Success } from "./Success.ts"

const params = { id: CollectionIdFromPath }

const changed = { success: Collection, error: [NotFound, Conflict] }

export class CollectionsApi extends HttpApiGroup.make("collections")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery({}), success: Schema.Array(Collection) }).annotate(
      HttpApi.QueryParseOptions,
      ONLY_KNOWN
    )
      .annotate(RequiredScope, "read")
      .annotate(OpenApi.Summary, "List own collections").annotate(
        OpenApi.Description,
        "The caller's collections of every visibility, newest first."
      ),
    HttpApiEndpoint.post("create", "/", {
      headers: { ...ConfirmHeader, ...IdempotencyHeader },
      payload: NewCollection,
      success: Collection.pipe(HttpApiSchema.status("Created")),
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotate(OpenApi.Summary, "Make a collection").annotate(
      OpenApi.Description,
      "Makes a collection of one's own routes and others' public ones. A personal access token that makes it public must "
        + "confirm."
    ),
    HttpApiEndpoint.patch("update", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params,
      payload: CollectionPatch,
      success: Collection,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotate(OpenApi.Summary, "Change a collection").annotate(
      OpenApi.Description,
      "Changes the members that the body names; `null` clears the description. A personal access token that makes it "
        + "public must confirm."
    ),
    HttpApiEndpoint.delete("remove", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params,
      success: Success,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotate(OpenApi.Summary, "Delete a collection").annotate(
      OpenApi.Description,
      "Deletes a collection; its routes stay. A personal access token must confirm."
    ),
    HttpApiEndpoint.put("setRoutes", "/:id/routes", {
      headers: MatchHeader,
      params,
      payload: Schema.Struct({ routeIds: RouteIds }).annotate({ identifier: "RouteOrder" }),
      ...changed
    }).annotate(OpenApi.Summary, "Set the routes of a collection").annotate(
      OpenApi.Description,
      "Sets the routes and their order."
    ),
    HttpApiEndpoint.post("addRoute", "/:id/routes", { headers: MatchHeader, params, payload: Addition, ...changed })
      .annotate(OpenApi.Summary, "Add a route to a collection").annotate(
        OpenApi.Description,
        "Adds a route at `position` (from 0), or at the end; one that is there already is moved."
      ),
    HttpApiEndpoint.delete("removeRoute", "/:id/routes/:routeId", {
      headers: MatchHeader,
      params: { ...params, routeId: RouteIdFromPath },
      ...changed
    }).annotate(OpenApi.Summary, "Take a route out of a collection").annotate(
      OpenApi.Description,
      "Takes a route out of the collection; the route itself stays."
    )
  )
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .add(
    HttpApiEndpoint.get("get", "/:ref", {
      headers: NoneMatchHeader,
      params: { ref: CollectionRef },
      success: Collection,
      error: NotFound
    }).middleware(OptionalAuthentication).annotate(OpenApi.Summary, "Open a collection").annotate(
      OpenApi.Description,
      "By id: the owner's own collections, and public ones. By share token: public and unlisted ones. Routes that the "
        + "caller may not see are left out."
    ),
    HttpApiEndpoint.get("routes", "/:ref/routes", {
      params: { ref: CollectionRef },
      query: listQuery(FormQuery),
      success: Schema.Array(Route),
      error: NotFound
    }).annotate(HttpApi.QueryParseOptions, ONLY_KNOWN).middleware(OptionalAuthentication).annotate(
      OpenApi.Summary,
      "Open the routes of a collection"
    ).annotate(
      OpenApi.Description,
      "The routes of a collection in its order, as the caller may see them. Unlisted routes are among them only for the "
        + "collection's owner and for their own; those of the collection's owner also for anyone who opens it by its share "
        + "token. Their ids in `routeIds` open nothing. "
        + `${PAGED} ${BOUNDED_PAGE}`
    )
  )
  .annotateEndpoints(Tier, "moderate")
  .add(
    HttpApiEndpoint.get("listByUser", "/by-user/:userId", {
      params: { userId: UserIdFromPath },
      query: listQuery({}),
      success: Schema.Array(Collection),
      error: NotFound
    }).annotate(HttpApi.QueryParseOptions, ONLY_KNOWN).middleware(StaleCookie).middleware(AddressLimit).annotate(
      OpenApi.Summary,
      "List a user's public collections"
    )
      .annotate(
        OpenApi.Description,
        `A user's public collections, newest first. ${PAGED} 404 for a user who does not exist or is pending deletion.`
      )
  )
  .prefix("/collections")
  .annotate(OpenApi.Title, "Collections")
  .annotate(OpenApi.Description, "Ordered lists of routes.")
{}
