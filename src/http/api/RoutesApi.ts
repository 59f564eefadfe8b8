import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { ElevationProfile, ElevationQuery, ProfileQuery } from "../../schema/Elevation.ts"
import { Conflict, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { RouteIdFromPath, RouteRef, UserIdFromPath } from "../../schema/Ids.ts"
import { CreatedRoute } from "../../schema/Import.ts"
import { listQuery } from "../../schema/Page.ts"
import { ListingQuery } from "../../schema/PublicListing.ts"
import { DeletedRoute, NewRoute, Route, RoutePatch } from "../../schema/Route.ts"
import { BatchResults, RouteBatch } from "../../schema/RouteBatch.ts"
import { OwnRoutesQuery, TagCount } from "../../schema/RouteSearch.ts"
import { AddressLimit, RequiredScope, Tier } from "./Access.ts"
import { CallerAuthentication, OptionalAuthentication, StaleCookie } from "./Authentication.ts"
import {
  BodyLimit,
  ConfirmHeader,
  FormFields,
  FormQuery,
  IdempotencyHeader,
  JsonBody,
  LongBodies,
  MatchHeader,
  NoneMatchHeader,
  NoParameters,
  ROUTE_BODY_LIMIT
} from "./Requests.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/RoutesTexts.ts"

const seen = { headers: NoneMatchHeader, params: { ref: RouteRef }, error: NotFound }

export class RoutesApi extends HttpApiGroup.make("routes")
  .add(
    HttpApiEndpoint.get("list", "/", { query: OwnRoutesQuery, success: Schema.Array(Route) })
      .annotate(RequiredScope, "read")
      .annotateMerge(texts.list),
    HttpApiEndpoint.post("create", "/", {
      headers: { ...ConfirmHeader, ...IdempotencyHeader },
      query: ElevationQuery,
      payload: NewRoute,
      success: CreatedRoute.pipe(HttpApiSchema.status("Created")),
      error: [Conflict, PreconditionRequired]
    })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(LongBodies, "newRoute")
      .annotateMerge(texts.create),
    HttpApiEndpoint.patch("update", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params: { id: RouteIdFromPath },
      payload: RoutePatch,
      success: Route,
      error: [NotFound, Conflict, PreconditionRequired]
    })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(LongBodies, "routePatch")
      .annotateMerge(texts.update),
    HttpApiEndpoint.delete("remove", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params: { id: RouteIdFromPath },
      success: Success,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(texts.remove)
  )
  .add(
    HttpApiEndpoint.post("restore", "/:id/restore", {
      headers: ConfirmHeader,
      params: { id: RouteIdFromPath },
      success: Route,
      error: [NotFound, PreconditionRequired]
    }).annotateMerge(texts.restore),
    HttpApiEndpoint.delete("emptyTrash", "/deleted", {
      headers: ConfirmHeader,
      success: Success,
      error: PreconditionRequired
    }).annotateMerge(texts.emptyTrash),
    HttpApiEndpoint.delete("purge", "/deleted/:id", {
      headers: ConfirmHeader,
      params: { id: RouteIdFromPath },
      success: Success,
      error: [NotFound, PreconditionRequired]
    }).annotateMerge(texts.purge)
  )
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .add(
    HttpApiEndpoint.get("get", "/:ref", {
      ...seen,
      query: FormQuery,
      success: Route
    })
      .middleware(OptionalAuthentication)
      .annotateMerge(texts.get),
    HttpApiEndpoint.get("profile", "/:ref/profile", {
      ...seen,
      query: ProfileQuery,
      success: ElevationProfile
    })
      .middleware(OptionalAuthentication)
      .annotateMerge(texts.profile)
  )
  .annotateEndpoints(Tier, "moderate")
  .add(
    HttpApiEndpoint.post("batch", "/batch", {
      headers: { ...ConfirmHeader, ...IdempotencyHeader },
      payload: RouteBatch,
      success: BatchResults,
      error: [NotFound, Conflict, PreconditionRequired]
    })
      .middleware(NoParameters)
      .middleware(JsonBody)
      .middleware(CallerAuthentication)
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(LongBodies, "routeBatch")
      .annotate(Tier, "strict")
      .annotateMerge(texts.batch),
    HttpApiEndpoint.get("listDeleted", "/deleted", {
      query: listQuery(FormFields),
      success: Schema.Array(DeletedRoute)
    })
      .middleware(CallerAuthentication)
      .annotate(RequiredScope, "read")
      .annotateMerge(texts.listDeleted),
    HttpApiEndpoint.get("tags", "/tags", { query: listQuery({}), success: Schema.Array(TagCount) })
      .middleware(CallerAuthentication)
      .annotate(RequiredScope, "read")
      .annotateMerge(texts.tags),
    HttpApiEndpoint.get("listPublic", "/public", { query: ListingQuery, success: Schema.Array(Route) })
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotateMerge(texts.listPublic),
    HttpApiEndpoint.get("listByUser", "/by-user/:userId", {
      params: { userId: UserIdFromPath },
      query: listQuery(FormFields),
      success: Schema.Array(Route),
      error: NotFound
    })
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotateMerge(texts.listByUser)
  )
  .prefix("/routes")
  .annotateMerge(texts.group)
{}
