import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CallerCredential, PersonalAccessTokens } from "../../services/accounts/Tokens.ts"
import { Caller, CurrentSession } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { success } from "../api/Success.ts"
import { makeRequestedPage } from "../request/RequestedPage.ts"
import { jsonPage, sliceOf } from "../response/Pagination.ts"
import { worded } from "../response/PublicErrors.ts"
import { withLocation } from "../response/Versioned.ts"

export const TokensHandlers = HttpApiBuilder.group(
  Api,
  "tokens",
  Effect.fn(function*(handlers) {
    const tokens = yield* PersonalAccessTokens
    const requestedPage = yield* makeRequestedPage
    return handlers.handleAll({
      list: Effect.fnUntraced(function*({ query, request }) {
        const { userId } = yield* CurrentSession
        const page = yield* requestedPage({ query, request }, Option.some(userId))
        const all = yield* tokens.list(userId)
        const found = sliceOf(all, page, { positionOf: ({ id }) => [id, id], isDescending: true })
        return jsonPage(request.url, page, found)
      }),
      mint: ({ payload }) =>
        withLocation(
          Effect.flatMap(CurrentSession, ({ userId }) => worded(tokens.mint(userId, payload))),
          ({ id }) => `/auth/tokens/${id}`
        ),
      revoke: ({ params }) =>
        Effect.flatMap(CurrentSession, ({ userId }) => Effect.as(worded(tokens.revoke(userId, params.id)), success))
    })
  })
)

export const CredentialHandlers = HttpApiBuilder.group(
  Api,
  "credential",
  Effect.fn(function*(handlers) {
    const credentials = yield* CallerCredential
    return handlers.handle("describe", () => worded(Effect.flatMap(Caller, credentials.describe)))
  })
)
