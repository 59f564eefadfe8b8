import { Duration, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { DEFAULT_TYPES } from "../../schema/Change.ts"
import type { RateLimited } from "../../schema/Errors.ts"
import { DEFAULT_LIMIT } from "../../schema/Page.ts"
import { Lanes } from "../../services/admission/Lanes.ts"
import { ChangeFeed, ChangeWaits } from "../../services/sync/ChangeFeed.ts"
import { Caller } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { makeReadmit } from "../auth/Admission.ts"
import { ResponseDeadline } from "../request/RequestBodies.ts"
import { changeResponse } from "../request/ResponseChange.ts"
import { retryAfter } from "../response/ErrorResponse.ts"
import { worded } from "../response/PublicErrors.ts"
import { changePage } from "../response/ResourceJson.ts"

const setRetryAfter = ({ details }: RateLimited) =>
  changeResponse((response) => HttpServerResponse.setHeaders(response, retryAfter(details)))

export const SyncHandlers = HttpApiBuilder.group(
  Api,
  "sync",
  Effect.fn(function*(handlers) {
    const feed = yield* ChangeFeed
    const waits = yield* ChangeWaits
    const readmit = yield* makeReadmit
    const { lists } = yield* Lanes

    return handlers.handleAll({
      list: Effect.fnUntraced(function*({ endpoint, query }) {
        const caller = yield* Caller
        const { userId } = caller
        const showsTokens = caller.kind === "session" || caller.scope === "write"
        const { cursor, geometry = "full", include = DEFAULT_TYPES, limit = DEFAULT_LIMIT, wait = 0 } = query
        const request = { cursor, include, limit, form: geometry }
        const page = yield* feed.read(userId, request, lists)
        if (cursor === undefined || page.changes.length > 0 || page.hasMore || wait === 0) {
          return yield* changePage(page, geometry, showsTokens)
        }
        const deadline = yield* ResponseDeadline
        yield* deadline.pause
        const next = yield* waits.next(userId, request, {
          empty: page,
          duration: Duration.seconds(wait),
          // The credential may have been revoked meanwhile.
          recheck: Effect.asVoid(readmit(caller, endpoint))
        }).pipe(
          worded,
          Effect.tapErrorTag("RateLimited", setRetryAfter),
          Effect.ensuring(deadline.begin)
        )
        return yield* changePage(next, geometry, showsTokens)
      }, worded)
    })
  })
)
