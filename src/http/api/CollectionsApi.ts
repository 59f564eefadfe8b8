import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import {
  Addition,
  Collection,
  CollectionPatch,
  DeletedCollection,
  NewCollection,
  RouteIds
} from "../../schema/Collection.ts"
import { Conflict, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { CollectionIdFromPath, CollectionRef, RouteIdFromPath, UserIdFromPath } from "../../schema/Ids.ts"
import { listQuery } from "../../schema/Page.ts"
import { CollectionRoute } from "../../schema/Route.ts"
import { SearchText } from "../../schema/RouteSearch.ts"
import { AddressLimit, RequiredScope, Tier } from "./Access.ts"
import { CallerAuthentication, OptionalAuthentication, StaleCookie } from "./Authentication.ts"
import {
  ConfirmHeader,
  FormFields,
  IdempotencyHeader,
  JsonBody,
  MatchHeader,
  NoneMatchHeader,
  NoParameters
} from "./Requests.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/CollectionsTexts.ts"

const query = listQuery({ q: Schema.optionalKey(SearchText) })

const params = { id: CollectionIdFromPath }

const changed = { success: Collection, error: [NotFound, Conflict] }

export class CollectionsApi extends HttpApiGroup.make("collections")
  .add(
    HttpApiEndpoint.get("list", "/", { query, success: Schema.Array(Collection) })
      .annotate(RequiredScope, "read")
      .annotateMerge(texts.list),
    HttpApiEndpoint.post("create", "/", {
      headers: { ...ConfirmHeader, ...IdempotencyHeader },
      payload: NewCollection,
      success: Collection.pipe(HttpApiSchema.status("Created")),
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(texts.create),
    HttpApiEndpoint.patch("update", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params,
      payload: CollectionPatch,
      success: Collection,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(texts.update),
    HttpApiEndpoint.delete("remove", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params,
      success: Success,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(texts.remove),
    HttpApiEndpoint.post("restore", "/:id/restore", {
      headers: ConfirmHeader,
      params,
      success: Collection,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(texts.restore),
    HttpApiEndpoint.delete("emptyTrash", "/deleted", {
      headers: ConfirmHeader,
      success: Success,
      error: PreconditionRequired
    }).annotateMerge(texts.emptyTrash),
    HttpApiEndpoint.delete("purge", "/deleted/:id", {
      headers: ConfirmHeader,
      params,
      success: Success,
      error: [NotFound, PreconditionRequired]
    }).annotateMerge(texts.purge),
    HttpApiEndpoint.put("setRoutes", "/:id/routes", {
      headers: MatchHeader,
      params,
      payload: Schema.Struct({ routeIds: RouteIds }).annotate({ identifier: "RouteOrder" }),
      ...changed
    }).annotateMerge(texts.setRoutes),
    HttpApiEndpoint.post("addRoute", "/:id/routes", { headers: MatchHeader, params, payload: Addition, ...changed })
      .annotateMerge(texts.addRoute),
    HttpApiEndpoint.delete("removeRoute", "/:id/routes/:routeId", {
      headers: MatchHeader,
      params: { ...params, routeId: RouteIdFromPath },
      ...changed
    }).annotateMerge(texts.removeRoute)
  )
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .add(
    HttpApiEndpoint.get("get", "/:ref", {
      headers: NoneMatchHeader,
      params: { ref: CollectionRef },
      success: Collection,
      error: NotFound
    })
      .middleware(NoParameters)
      .middleware(OptionalAuthentication)
      .annotateMerge(texts.get),
    HttpApiEndpoint.get("routes", "/:ref/routes", {
      params: { ref: CollectionRef },
      query: listQuery(FormFields),
      success: Schema.Array(CollectionRoute),
      error: NotFound
    })
      .middleware(OptionalAuthentication)
      .annotateMerge(texts.routes)
  )
  .annotateEndpoints(Tier, "moderate")
  .add(
    HttpApiEndpoint.get("listDeleted", "/deleted", {
      query: listQuery({}),
      success: Schema.Array(DeletedCollection)
    })
      .middleware(CallerAuthentication)
      .annotate(RequiredScope, "read")
      .annotateMerge(texts.listDeleted),
    HttpApiEndpoint.get("listByUser", "/by-user/:userId", {
      params: { userId: UserIdFromPath },
      query: listQuery({}),
      success: Schema.Array(Collection),
      error: NotFound
    })
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotateMerge(texts.listByUser)
  )
  .prefix("/collections")
  .annotateMerge(texts.group)
{}
