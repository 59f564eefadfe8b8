import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Sessions } from "../../services/accounts/Sessions.ts"
import { CurrentSession } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { success } from "../api/Success.ts"
import { signResponseOut } from "../auth/Credentials.ts"
import { makeRequestedPage } from "../request/RequestedPage.ts"
import { jsonPage, sliceOf } from "../response/Pagination.ts"
import { worded } from "../response/PublicErrors.ts"

export const SessionsHandlers = HttpApiBuilder.group(
  Api,
  "sessions",
  Effect.fn(function*(handlers) {
    const sessions = yield* Sessions
    const requestedPage = yield* makeRequestedPage
    return handlers.handleAll({
      list: Effect.fnUntraced(function*({ query, request }) {
        const { sessionId, userId } = yield* CurrentSession
        const page = yield* requestedPage({ query, request }, Option.some(userId))
        const all = yield* sessions.list(userId, sessionId)
        const found = sliceOf(all, page, { positionOf: ({ createdAt, id }) => [createdAt, id], isDescending: true })
        return jsonPage(request.url, page, found)
      }),
      revoke: Effect.fnUntraced(function*({ params }) {
        const { sessionId, userId } = yield* CurrentSession
        yield* sessions.revoke(userId, params.id)
        if (params.id === sessionId) yield* signResponseOut
        return success
      }, worded),
      logOutEverywhere: Effect.fnUntraced(function*() {
        const { userId } = yield* CurrentSession
        yield* sessions.revokeAll(userId)
        yield* signResponseOut
        return success
      })
    })
  })
)
