import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { ElevationProfile, ElevationQuery, ProfileQuery } from "../../schema/Elevation.ts"
import { Conflict, NotFound, PreconditionRequired } from "../../schema/Errors.ts"
import { RouteIdFromPath, RouteRef, UserIdFromPath } from "../../schema/Ids.ts"
import { CreatedRoute } from "../../schema/Import.ts"
import { ELEVATION_TIMEOUT, GRACE_PERIOD, inWords } from "../../schema/Limits.ts"
import { listQuery } from "../../schema/Page.ts"
import { DeletedRoute, NewRoute, Route, RoutePatch } from "../../schema/Route.ts"
import { BatchResults, MAX_OPERATIONS, RouteBatch } from "../../schema/RouteBatch.ts"
import { ListingQuery, MAX_SEARCH_WORDS, OwnRoutesQuery, TagCount } from "../../schema/RouteSearch.ts"
import {
  AddressLimit,
  CallerAuthentication,
  OptionalAuthentication,
  RequiredScope,
  StaleCookie,
  Tier
} from "./Access.ts"
import { BOUNDED_PAGE, described, MOVING, PAGED, titled } from "./Described.ts"
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

const seen = { headers: NoneMatchHeader, params: { ref: RouteRef }, error: NotFound }

export class RoutesApi extends HttpApiGroup.make("routes")
  .add(
    HttpApiEndpoint.get("list", "/", { query: OwnRoutesQuery, success: Schema.Array(Route) })
      .annotate(RequiredScope, "read")
      .annotateMerge(described(
        "List own routes",
        "The caller's routes of every visibility, newest first, or those that match all filters. "
          + `\`q\` has 1 to ${MAX_SEARCH_WORDS} words, each `
          + "the beginning of a word in a route's name, description, tags, place (city, region) or names of waypoints; letter "
          + "case and accents do not matter, and Chinese and Japanese are matched by character. `sort=relevance` puts words in "
          + `the name first, then in tags, in places, in the description. ${PAGED} ${MOVING} ${BOUNDED_PAGE}`
      )),
    HttpApiEndpoint.post("create", "/", {
      headers: { ...ConfirmHeader, ...IdempotencyHeader },
      query: ElevationQuery,
      payload: NewRoute,
      success: CreatedRoute.pipe(HttpApiSchema.status("Created")),
      error: [Conflict, PreconditionRequired]
    })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(LongBodies, "newRoute")
      .annotateMerge(described(
        "Store a route",
        "Stores a route. Its place is derived from its first position; `distance` (metres) from the line if absent, "
          + "`elevationGain` (metres) from its elevations, and `duration` (seconds) from the timestamps of the "
          + "waypoints. The line is `geometry`, or `polyline6` in place of it: what the routing proxy responds, as it "
          + "is. The gain is the sum of the climbs of at least 3 m in elevations that are averaged over 50 m of line "
          + "on either side. `cues` are turns along the line, such as the `maneuvers` of a computed route: their indexes are "
          + "those of its positions. With `elevation=true` elevations that are missing come from the routing engine; where it "
          + `has none, fails or takes more than ${
            inWords(ELEVATION_TIMEOUT)
          }, the route is stored as it is, and \`warnings\` has `
          + "`elevation_missing`. A personal access token that makes it public must confirm."
      )),
    HttpApiEndpoint.patch("update", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params: { id: RouteIdFromPath },
      payload: RoutePatch,
      success: Route,
      error: [NotFound, Conflict, PreconditionRequired]
    })
      .annotate(BodyLimit, ROUTE_BODY_LIMIT)
      .annotate(LongBodies, "routePatch")
      .annotateMerge(described(
        "Change a route",
        "Changes the members that the body names; `null` clears an optional one. `polyline6` may stand in place of "
          + "`geometry`; a line without a `distance` is measured again, as on create, and one with elevations also "
          + "gives the `elevationGain` that the body lacks; without a geometry (`null`) there is no distance, "
          + "unless the body has one. A new line without `cues` or `surfaces` has none. A line that was read in another form, "
          + "by the tag in `If-Match`, and is sent back stays as it is stored. A personal access token "
          + "that makes a route public must confirm."
      )),
    HttpApiEndpoint.delete("remove", "/:id", {
      headers: { ...ConfirmHeader, ...MatchHeader },
      params: { id: RouteIdFromPath },
      success: Success,
      error: [NotFound, Conflict, PreconditionRequired]
    }).annotateMerge(described(
      "Delete a route",
      "Deletes a route: it is gone for everyone at once. A personal access token must confirm."
    ))
  )
  .add(
    HttpApiEndpoint.post("restore", "/:id/restore", {
      headers: ConfirmHeader,
      params: { id: RouteIdFromPath },
      success: Route,
      error: [NotFound, PreconditionRequired]
    }).annotateMerge(described(
      "Restore a deleted route",
      `Restores a deleted route as it was, within ${
        inWords(GRACE_PERIOD)
      }. A personal access token must confirm where the route was `
        + "public, since it is public again."
    )),
    HttpApiEndpoint.delete("emptyTrash", "/deleted", {
      headers: ConfirmHeader,
      success: Success,
      error: PreconditionRequired
    }).annotateMerge(described(
      "Empty the trash of routes",
      "Erases all deleted routes of the caller for good, and with them what they count for in `usage`. A personal access "
        + "token must confirm. After an error a part of them may be erased: the same call erases the rest."
    )),
    HttpApiEndpoint.delete("purge", "/deleted/:id", {
      headers: ConfirmHeader,
      params: { id: RouteIdFromPath },
      success: Success,
      error: [NotFound, PreconditionRequired]
    }).annotateMerge(described(
      "Erase a deleted route",
      "Erases a route in the trash for good, and with it what it counts for in `usage`. A personal access token must "
        + "confirm. 404 for a route that is not in the trash."
    ))
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
      .annotateMerge(described(
        "Open a route",
        "By id: the owner's own routes, and public ones. By share token or the token of a link (32 hex "
          + "digits): public and unlisted ones."
      )),
    HttpApiEndpoint.get("profile", "/:ref/profile", {
      ...seen,
      query: ProfileQuery,
      success: ElevationProfile
    })
      .middleware(OptionalAuthentication)
      .annotateMerge(described(
        "Read the elevation profile of a route",
        "Distances along the line, from its start, and heights there: those of its positions where there are no more than `points`, "
          + "else interpolated at even distances. Of the line that the caller sees, by the rules of opening a route. A route "
          + "without elevations has no points."
      ))
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
      .annotateMerge(described(
        "Change several routes",
        `Up to ${MAX_OPERATIONS} operations: creates, changes, deletes and restores routes, makes, changes and deletes `
          + "collections, adds routes to them and takes them out, makes, changes and deletes links, replaces the privacy zones and "
          + "changes the account. `$0`, `$1` and so on stand for what an earlier operation of "
          + "the batch has made, by its index. Each has its own result in `results`, in their order: the `status` that it has as a request of its "
          + "own, and what the request would return, or the `error`; routes come without `geometry`. What fails changes nothing, "
          + "one that does not match its schema too (400), and the others are done; with `atomic: true` all are done or none: the response is the error of the first that "
          + "failed then, with its index in `details.operation`, or has in `details.issues` all that does not match its schema. "
          + "`ifMatch` of an operation is as the header `If-Match`, and "
          + "`ifVersion` the `version` of a change of `GET /sync`. A "
          + "personal access token must confirm once what must be confirmed of any: `details.impacts` has all of it. It "
          + "counts as one request."
      )),
    HttpApiEndpoint.get("listDeleted", "/deleted", {
      query: listQuery(FormFields),
      success: Schema.Array(DeletedRoute)
    })
      .middleware(CallerAuthentication)
      .annotate(RequiredScope, "read")
      .annotateMerge(described(
        "List deleted routes",
        `The caller's deleted routes, newest deletion first. They can be restored for ${
          inWords(GRACE_PERIOD)
        }, until \`purgedAt\`, and count for the quotas of routes and bytes until they are erased. ${PAGED} ${BOUNDED_PAGE}`
      )),
    HttpApiEndpoint.get("tags", "/tags", { query: listQuery({}), success: Schema.Array(TagCount) })
      .middleware(CallerAuthentication)
      .annotate(RequiredScope, "read")
      .annotateMerge(described(
        "List own tags",
        `The tags of the caller's routes, each with how many routes have it: most first, then by name. ${PAGED}`
      )),
    HttpApiEndpoint.get("listPublic", "/public", { query: ListingQuery, success: Schema.Array(Route) })
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotateMerge(described(
        "Find public routes",
        "Public routes. `gate=indexable` (default): those with a place, a name, 20 positions and 500 m or more, of an owner "
          + "with a verified address, newest-updated first. `gate=public`: all, newest-published first. `bbox` is "
          + "minLng,minLat,maxLng,maxLat; minLng greater than maxLng crosses the antimeridian. Distances are in metres. "
          + "`q` and `tag` work as in the list of one's own routes. "
          + "`geometry` is `full` with `gate=indexable` and `simplified` with `gate=public` if absent. `X-Total-Count` is "
          + "exact; it may be up to 5 seconds old. "
          + `${MOVING} ${BOUNDED_PAGE}`
      )),
    HttpApiEndpoint.get("listByUser", "/by-user/:userId", {
      params: { userId: UserIdFromPath },
      query: listQuery(FormFields),
      success: Schema.Array(Route),
      error: NotFound
    })
      .middleware(StaleCookie)
      .middleware(AddressLimit)
      .annotateMerge(described(
        "List a user's public routes",
        `A user's public routes, newest-published first. ${PAGED} ${BOUNDED_PAGE} 404 for a user who does not exist `
          + "or is pending deletion."
      ))
  )
  .prefix("/routes")
  .annotateMerge(titled("Routes", "Planned routes."))
{}
