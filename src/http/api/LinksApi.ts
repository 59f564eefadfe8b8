import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Collection } from "../../schema/Collection.ts"
import { Conflict, NotFound } from "../../schema/Errors.ts"
import { CollectionIdFromPath, LinkIdFromPath, RouteIdFromPath } from "../../schema/Ids.ts"
import { listQuery, ONLY_KNOWN } from "../../schema/Page.ts"
import { Route } from "../../schema/Route.ts"
import { NewShareLink, ShareLink, ShareLinkPatch } from "../../schema/ShareLink.ts"
import { Tier } from "./Access.ts"
import { CallerAuthentication } from "./Authentication.ts"
import { IdempotencyHeader, JsonBody } from "./Requests.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/LinksTexts.ts"

const query = listQuery({})

const made = { success: ShareLink.pipe(HttpApiSchema.status("Created")), error: [NotFound, Conflict] }

const ofRoute = { id: RouteIdFromPath }
const linkOfRoute = { ...ofRoute, linkId: LinkIdFromPath }

const ofCollection = { id: CollectionIdFromPath }
const linkOfCollection = { ...ofCollection, linkId: LinkIdFromPath }

export class LinksApi extends HttpApiGroup.make("links")
  .add(
    HttpApiEndpoint.get("listOfRoute", "/routes/:id/links", {
      params: ofRoute,
      query,
      success: Schema.Array(ShareLink),
      error: NotFound
    })
      .annotate(HttpApi.QueryParseOptions, ONLY_KNOWN)
      .annotateMerge(texts.route.list),
    HttpApiEndpoint.post("createForRoute", "/routes/:id/links", {
      headers: IdempotencyHeader,
      params: ofRoute,
      payload: NewShareLink,
      ...made
    }).annotateMerge(texts.route.create),
    HttpApiEndpoint.patch("changeOfRoute", "/routes/:id/links/:linkId", {
      params: linkOfRoute,
      payload: ShareLinkPatch,
      success: ShareLink,
      error: NotFound
    }).annotateMerge(texts.route.change),
    HttpApiEndpoint.delete("removeOfRoute", "/routes/:id/links/:linkId", {
      params: linkOfRoute,
      success: Success,
      error: NotFound
    }).annotateMerge(texts.route.remove),
    HttpApiEndpoint.post("replaceRouteShareToken", "/routes/:id/share-token", {
      params: ofRoute,
      success: Route,
      error: NotFound
    }).annotateMerge(texts.route.replaceShareToken),
    HttpApiEndpoint.get("listOfCollection", "/collections/:id/links", {
      params: ofCollection,
      query,
      success: Schema.Array(ShareLink),
      error: NotFound
    })
      .annotate(HttpApi.QueryParseOptions, ONLY_KNOWN)
      .annotateMerge(texts.collection.list),
    HttpApiEndpoint.post("createForCollection", "/collections/:id/links", {
      headers: IdempotencyHeader,
      params: ofCollection,
      payload: NewShareLink,
      ...made
    }).annotateMerge(texts.collection.create),
    HttpApiEndpoint.patch("changeOfCollection", "/collections/:id/links/:linkId", {
      params: linkOfCollection,
      payload: ShareLinkPatch,
      success: ShareLink,
      error: NotFound
    }).annotateMerge(texts.collection.change),
    HttpApiEndpoint.delete("removeOfCollection", "/collections/:id/links/:linkId", {
      params: linkOfCollection,
      success: Success,
      error: NotFound
    }).annotateMerge(texts.collection.remove),
    HttpApiEndpoint.post("replaceCollectionShareToken", "/collections/:id/share-token", {
      params: ofCollection,
      success: Collection,
      error: NotFound
    }).annotateMerge(texts.collection.replaceShareToken)
  )
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .annotateEndpoints(Tier, "moderate")
  .annotateMerge(texts.group)
{}
