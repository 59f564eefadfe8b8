import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { pageOf } from "../../schema/Page.ts"
import { PersonalAccessTokens } from "../../services/credentials/PersonalAccessTokens.ts"
import { Api } from "../api/Api.ts"
import { CurrentSession } from "../api/Authentication.ts"
import { success } from "../api/Success.ts"
import { pageHeaders, sliceOf } from "../response/Pagination.ts"
import { worded } from "../response/PublicErrors.ts"

export const TokensHandlers = HttpApiBuilder.group(
  Api,
  "tokens",
  Effect.fn(function*(handlers) {
    const tokens = yield* PersonalAccessTokens
    return handlers.handleAll({
      list: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* CurrentSession
        const page = pageOf(query)
        const all = yield* tokens.list(userId)
        const found = sliceOf(all, page)
        return HttpServerResponse.jsonUnsafe(found.items, { headers: pageHeaders(request.url, page, found) })
      }),
      mint: ({ payload }) => Effect.flatMap(CurrentSession, ({ userId }) => worded(tokens.mint(userId, payload))),
      revoke: ({ params }) =>
        Effect.flatMap(CurrentSession, ({ userId }) => Effect.as(worded(tokens.revoke(userId, params.id)), success))
    })
  })
)
