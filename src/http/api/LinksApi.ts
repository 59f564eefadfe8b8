import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Collection } from "../../schema/Collection.ts"
import { Conflict, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { CollectionIdFromPath, LinkIdFromPath, RouteIdFromPath } from "../../schema/Ids.ts"
import { listQuery } from "../../schema/Page.ts"
import { Route } from "../../schema/Route.ts"
import { MAX_LINKS, NewShareLink, ShareLink, ShareLinkPatch } from "../../schema/ShareLink.ts"
import { CallerAuthentication, Tier } from "./Access.ts"
import { described, PAGED, titled } from "./Described.ts"
import { ConfirmHeader, IdempotencyHeader, JsonBody, NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"

const linkEndpoints = <
  const Kind extends string,
  Id extends typeof RouteIdFromPath | typeof CollectionIdFromPath,
  Shared extends typeof Route | typeof Collection
>(
  { id, kind, noun, opened, path, shared }: {
    readonly kind: Kind
    readonly noun: string
    /** The text says what a link opens of files and of unlisted routes. */
    readonly opened: string
    readonly path: "/routes" | "/collections"
    readonly id: Id
    readonly shared: Shared
  }
) =>
  [
    HttpApiEndpoint.get(`listOf${kind}`, `${path}/:id/links`, {
      params: { id },
      query: listQuery({}),
      success: Schema.Array(ShareLink),
      error: NotFound
    })
      .annotateMerge(described(
        `List the links of a ${noun}`,
        `The links that are not expired, newest first, with their tokens. ${PAGED}`
      )),
    HttpApiEndpoint.post(`createFor${kind}`, `${path}/:id/links`, {
      headers: IdempotencyHeader,
      params: { id },
      payload: NewShareLink,
      success: ShareLink.pipe(HttpApiSchema.status("Created")),
      error: [NotFound, Conflict]
    }).annotateMerge(described(
      `Make a link to a ${noun}`,
      `Makes a link beside the share token; a ${noun} has at most ${MAX_LINKS}. Its token opens what the share token opens, `
        + `and nothing while the ${noun} is private. It opens nothing from its expiry on. ${opened}`
    )),
    HttpApiEndpoint.patch(`changeOf${kind}`, `${path}/:id/links/:linkId`, {
      params: { id, linkId: LinkIdFromPath },
      payload: ShareLinkPatch,
      success: ShareLink,
      error: NotFound
    }).annotateMerge(described(
      `Change a link to a ${noun}`,
      "Changes the members that the body names; `null` clears the label or the expiry. The token stays."
    )),
    HttpApiEndpoint.delete(`removeOf${kind}`, `${path}/:id/links/:linkId`, {
      headers: ConfirmHeader,
      params: { id, linkId: LinkIdFromPath },
      success: Success,
      error: [NotFound, PreconditionRequired]
    }).annotateMerge(described(
      `Delete a link to a ${noun}`,
      "Deletes a link: its token opens nothing from now on. A personal access token must confirm."
    )),
    HttpApiEndpoint.post(`replace${kind}ShareToken`, `${path}/:id/share-token`, {
      headers: ConfirmHeader,
      params: { id },
      success: shared,
      error: [NotFound, PreconditionRequired]
    }).annotateMerge(described(
      `Replace the share token of a ${noun}`,
      `Makes another share token: the one before is 404 everywhere from now on. Links stay. The ${noun} has a new version. A `
        + "personal access token must confirm."
    ))
  ] as const

export class LinksApi extends HttpApiGroup.make("links")
  .add(...linkEndpoints({
    kind: "Route",
    noun: "route",
    opened:
      "With `allowDownload: false` files are 403 with `details.reason` `download_not_allowed`, for others than the owner; "
      + "the line in JSON is still what a page needs to draw it, so this hides no position.",
    path: "/routes",
    id: RouteIdFromPath,
    shared: Route
  }))
  .add(...linkEndpoints({
    kind: "Collection",
    noun: "collection",
    opened:
      "Unlisted routes of the collection come without their own share tokens, which would outlive the link: their lines "
      + "are in the list of its routes, and they have no files by it. `allowDownload` tells a page whether to offer "
      + "downloads.",
    path: "/collections",
    id: CollectionIdFromPath,
    shared: Collection
  }))
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(CallerAuthentication)
  .annotateEndpoints(Tier, "moderate")
  .annotateMerge(titled("Links", "Links to routes and collections, which expire and can be deleted."))
{}
