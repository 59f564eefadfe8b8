import { Duration } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ChangePage, LONGEST_CHANGE_WAIT, SyncQuery, TOMBSTONE_RETENTION } from "../../schema/Change.ts"
import { Forbidden, Gone, RateLimited, Unauthorized } from "../../schema/Errors.ts"
import { inWords } from "../../schema/Limits.ts"
import { MAX_PAGE_BYTES } from "../../schema/Page.ts"
import { CallerAuthentication, RequiredScope } from "./Access.ts"
import { described, mebibytes, titled } from "./Described.ts"

export class SyncApi extends HttpApiGroup.make("sync")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: SyncQuery,
      success: ChangePage,
      error: [Gone, Unauthorized, Forbidden, RateLimited]
    })
      .annotate(RequiredScope, "read")
      .annotateMerge(described(
        "Read what changed",
        "What was created, changed, moved to the trash, restored or erased since `cursor`, in order, each route and "
          + "collection once in its newest state; without `cursor` the whole account, newest first, and then what changed "
          + "since. With `include=everything` also links, and the account with its profile, preferences and privacy zones, which has no "
          + "deletion; uses of a link are no change of it. `etag` of a change is what `If-Match` takes. Apply `changes`, keep `cursor` with them, and call again with it; at once while `hasMore`. A change may "
          + "be repeated, and none is lost. `route` and `collection` are as their own endpoints return them; a change "
          + "of `user` in them is not one of theirs, and those of a collection include that a route in it is deleted, restored or no "
          + "longer to be seen. `geometry` is `full` if absent. A page ends after "
          + `${mebibytes(MAX_PAGE_BYTES)} of geometry, cues and waypoints.\n\n`
          + `\`wait\` (up to ${Duration.toSeconds(LONGEST_CHANGE_WAIT)} seconds) holds a request for which there is `
          + "nothing until there is; its page is empty when the time is over, and when the service shuts down. Abort it before "
          + "signing in or out: the response to a cookie would bring the session of before back. A cursor is "
          + "for one account and one `include`: another is 400. It is 410 with `details.reason` `cursor_expired` where "
          + `deletions after it were purged, ${inWords(TOMBSTONE_RETENTION)} after they were made, and where a restore `
          + "or failover of the database lost changes or the secret of the service was replaced: call without a cursor then, "
          + "and remove what is not in that."
      ))
  )
  .middleware(CallerAuthentication)
  .prefix("/sync")
  .annotateMerge(titled("Sync", "Keeping a copy of an account."))
{}
