import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Collection } from "../../schema/Collection.ts"
import { Conflict, NotFound } from "../../schema/Errors.ts"
import { CollectionIdFromPath, LinkIdFromPath, RouteIdFromPath } from "../../schema/Ids.ts"
import { listQuery } from "../../schema/Page.ts"
import { Route } from "../../schema/Route.ts"
import { NewShareLink, ShareLink, ShareLinkPatch } from "../../schema/ShareLink.ts"
import { Tier } from "./Access.ts"
import { CallerAuthentication } from "./Authentication.ts"
import { IdempotencyHeader, JsonBody, NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"
import { type LinkTexts, texts } from "./texts/LinksTexts.ts"

const linkEndpoints = <
  const Kind extends string,
  Id extends typeof RouteIdFromPath | typeof CollectionIdFromPath,
  Shared extends typeof Route | typeof Collection
>(
  { id, kind, path, shared, texts }: {
    readonly kind: Kind
    readonly path: "/routes" | "/collections"
    readonly id: Id
    readonly shared: Shared
    readonly texts: LinkTexts
  }
) =>
  [
    HttpApiEndpoint.get(`listOf${kind}`, `${path}/:id/links`, {
      params: { id },
      query: listQuery({}),
      success: Schema.Array(ShareLink),
      error: NotFound
    })
      .annotateMerge(texts.list),
    HttpApiEndpoint.post(`createFor${kind}`, `${path}/:id/links`, {
      headers: IdempotencyHeader,
      params: { id },
      payload: NewShareLink,
      success: ShareLink.pipe(HttpApiSchema.status("Created")),
      error: [NotFound, Conflict]
    }).annotateMerge(texts.create),
    HttpApiEndpoint.patch(`changeOf${kind}`, `${path}/:id/links/:linkId`, {
      params: { id, linkId: LinkIdFromPath },
      payload: ShareLinkPatch,
      success: ShareLink,
      error: NotFound
    }).annotateMerge(texts.change),
    HttpApiEndpoint.delete(`removeOf${kind}`, `${path}/:id/links/:linkId`, {
      params: { id, linkId: LinkIdFromPath },
      success: Success,
      error: NotFound
    }).annotateMerge(texts.remove),
    HttpApiEndpoint.post(`replace${kind}ShareToken`, `${path}/:id/share-token`, {
      params: { id },
      success: shared,
      error: NotFound
    }).annotateMerge(texts.replaceShareToken)
  ] as const

export class LinksApi extends HttpApiGroup.make("links")
  .add(...linkEndpoints({
    kind: "Route",
    path: "/routes",
    id: RouteIdFromPath,
    shared: Route,
    texts: texts.route
  }))
  .add(...linkEndpoints({
    kind: "Collection",
    path: "/collections",
    id: CollectionIdFromPath,
    shared: Collection,
    texts: texts.collection
  }))
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .annotateEndpoints(Tier, "moderate")
  .annotateMerge(texts.group)
{}
