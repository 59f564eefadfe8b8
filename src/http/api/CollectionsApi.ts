import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import {
  Addition,
  Collection,
  CollectionPatch,
  DeletedCollection,
  MAX_IN_TRASH,
  NewCollection,
  RouteIds
} from "../../schema/Collection.ts"
import { Conflict, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { CollectionIdFromPath, CollectionRef, RouteId, RouteIdFromPath, UserIdFromPath } from "../../schema/Ids.ts"
import { GRACE_PERIOD, grouped, inWords } from "../../schema/Limits.ts"
import { named } from "../../schema/Named.ts"
import { listQuery } from "../../schema/Page.ts"
import { CollectionRoute } from "../../schema/Route.ts"
import { SearchText } from "../../schema/RouteSearch.ts"
import {
  AddressLimit,
  CallerAuthentication,
  OptionalAuthentication,
  RequiredScope,
  StaleCookie,
  Tier
} from "./Access.ts"
import { BOUNDED_PAGE, described, PAGED, titled } from "./Described.ts"
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

const query = listQuery({ q: Schema.optionalKey(SearchText) })

const params = { id: CollectionIdFromPath }

const changed = { success: Collection, error: [NotFound, Conflict] }

export class CollectionsApi extends HttpApiGroup.make("collections")
  .add(
    HttpApiEndpoint.get("list", "/", { query, success: Schema.Array(Collection) })
      .annotate(RequiredScope, "read")
      .annotateMerge(described(
        "List own collections",
        "The caller's collections of every visibility, newest first; with `q` those whose name and description have its words, "
          + `by the rules of the list of routes. ${PAGED}`
      )),
    HttpApiEndpoint.post("create", "/", {
      headers: { ...ConfirmHeader, ...IdempotencyHeader },
      payload: NewCollection,
      success: Collection.pipe(HttpApiSchema.status("Created")),
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(described(
      "Make a collection",
      "Makes a collection of one's own routes and others' public ones. A personal access token that makes it public must "
        + "confirm."
    )),
    HttpApiEndpoint.patch("update", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params,
      payload: CollectionPatch,
      success: Collection,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(described(
      "Change a collection",
      "Changes the members that the body names; `null` clears the description. A personal access token that makes it "
        + "public must confirm."
    )),
    HttpApiEndpoint.delete("remove", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params,
      success: Success,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(described(
      "Delete a collection",
      `Deletes a collection; its routes stay. A personal access token must confirm. The trash keeps the ${
        grouped(MAX_IN_TRASH)
      } newest of an account.`
    )),
    HttpApiEndpoint.post("restore", "/:id/restore", {
      headers: ConfirmHeader,
      params,
      success: Collection,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(described(
      "Restore a deleted collection",
      `Restores a deleted collection as it was, within ${
        inWords(GRACE_PERIOD)
      }. It counts for the quota again: 409 where that is full. A personal access token must confirm where the collection `
        + "was public, since it is public again."
    )),
    HttpApiEndpoint.delete("emptyTrash", "/deleted", {
      headers: ConfirmHeader,
      success: Success,
      error: PreconditionRequired
    }).annotateMerge(described(
      "Empty the trash of collections",
      "Erases all deleted collections of the caller for good; their routes stay. A personal access token must confirm. "
        + "After an error a part of them may be erased: the same call erases the rest."
    )),
    HttpApiEndpoint.delete("purge", "/deleted/:id", {
      headers: ConfirmHeader,
      params,
      success: Success,
      error: [NotFound, PreconditionRequired]
    }).annotateMerge(described(
      "Erase a deleted collection",
      "Erases a collection in the trash for good; its routes stay. A personal access token must confirm. 404 for a "
        + "collection that is not in the trash."
    )),
    HttpApiEndpoint.put("setRoutes", "/:id/routes", {
      headers: MatchHeader,
      params,
      payload: Schema.Struct({ routeIds: RouteIds }).annotate(
        named("RouteOrder", "The routes of a collection in their order.", { routeIds: [RouteId.make(12)] })
      ),
      ...changed
    }).annotateMerge(described(
      "Set the routes of a collection",
      "Sets the routes and their order. Those that the owner does not see, such as one in the trash, stay where they are."
    )),
    HttpApiEndpoint.post("addRoute", "/:id/routes", { headers: MatchHeader, params, payload: Addition, ...changed })
      .annotateMerge(described(
        "Add a route to a collection",
        "Adds a route at `position` (from 0), or at the end; one that is there already is moved."
      )),
    HttpApiEndpoint.delete("removeRoute", "/:id/routes/:routeId", {
      headers: MatchHeader,
      params: { ...params, routeId: RouteIdFromPath },
      ...changed
    }).annotateMerge(described(
      "Take a route out of a collection",
      "Takes a route out of the collection; the route itself stays."
    ))
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
      .annotateMerge(described(
        "Open a collection",
        "By id: the owner's own collections, and public ones. By share token or that of a link: public and unlisted ones. Routes that the "
          + "caller may not see are left out."
      )),
    HttpApiEndpoint.get("routes", "/:ref/routes", {
      params: { ref: CollectionRef },
      query: listQuery(FormFields),
      success: Schema.Array(CollectionRoute),
      error: NotFound
    })
      .middleware(OptionalAuthentication)
      .annotateMerge(described(
        "Open the routes of a collection",
        "The routes of a collection in its order, as the caller may see them. Unlisted routes are among them only for the "
          + "collection's owner and for their own; those of the collection's owner also for anyone who opens it by its share "
          + "token or a link. Their ids in `routeIds` open nothing. "
          + `${PAGED} ${BOUNDED_PAGE}`
      ))
  )
  .annotateEndpoints(Tier, "moderate")
  .add(
    HttpApiEndpoint.get("listDeleted", "/deleted", {
      query: listQuery({}),
      success: Schema.Array(DeletedCollection)
    })
      .middleware(CallerAuthentication)
      .annotate(RequiredScope, "read")
      .annotateMerge(described(
        "List deleted collections",
        `The caller's deleted collections, newest deletion first. They can be restored for ${
          inWords(GRACE_PERIOD)
        }, until \`purgedAt\`, and count for no quota. ${PAGED}`
      )),
    HttpApiEndpoint.get("listByUser", "/by-user/:userId", {
      params: { userId: UserIdFromPath },
      query: listQuery({}),
      success: Schema.Array(Collection),
      error: NotFound
    })
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotateMerge(described(
        "List a user's public collections",
        `A user's public collections, newest first. ${PAGED} 404 for a user who does not exist or is pending deletion.`
      ))
  )
  .prefix("/collections")
  .annotateMerge(titled("Collections", "Ordered lists of routes."))
{}
