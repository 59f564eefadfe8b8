import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import { Administration } from "../../services/accounts/Admin.ts"
import { Invitations } from "../../services/accounts/SignUp.ts"
import { SystemStatus } from "../../services/accounts/SystemStatus.ts"
import { Lanes } from "../../services/admission/Lanes.ts"
import { Audit } from "../../services/identity/Audit.ts"
import { CurrentSession } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { success } from "../api/Success.ts"
import { makeRequestedPage } from "../request/RequestedPage.ts"
import { jsonPage } from "../response/Pagination.ts"
import { worded } from "../response/PublicErrors.ts"
import { withLocation } from "../response/Versioned.ts"

interface Listing {
  readonly query: { readonly cursor?: string; readonly limit?: number; readonly offset?: number }
  readonly request: HttpServerRequest.HttpServerRequest
}

const changing = <E extends { readonly _tag: string }>(change: (admin: UserId) => Effect.Effect<void, E>) =>
  Effect.flatMap(CurrentSession, ({ userId }) => Effect.as(worded(change(userId)), success))

export const AdminHandlers = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fn(function*(handlers) {
    const administration = yield* Administration
    const audit = yield* Audit
    const invitations = yield* Invitations
    const system = yield* SystemStatus
    const { lists } = yield* Lanes
    const requestedPage = yield* makeRequestedPage

    const listing = Effect.fnUntraced(function*<A>(
      { query, request }: Listing,
      list: (admin: UserId, page: Page) => Effect.Effect<PageOf<A>>
    ) {
      const { userId } = yield* CurrentSession
      const page = yield* requestedPage({ query, request }, Option.some(userId))
      return jsonPage(request.url, page, yield* lists(list(userId, page)))
    }, worded)

    return handlers.handleAll({
      overview: () => worded(lists(administration.overview)),
      users: (requested) =>
        listing(requested, (admin, page) => {
          const { query, sort = "-createdAt" } = requested.query
          return administration.users(admin, query, sort, page)
        }),
      user: ({ params }) =>
        Effect.flatMap(CurrentSession, ({ userId }) => worded(lists(administration.user(userId, params.id)))),
      deleteUser: ({ params }) => changing((admin) => administration.deleteUser(admin, params.id)),
      invite: ({ payload }) =>
        withLocation(changing((admin) => invitations.invite(admin, payload.email)), () => "/admin/users"),
      deletions: (requested) => listing(requested, administration.deletions),
      routes: (requested) =>
        listing(requested, (admin, page) => administration.routes(admin, requested.query.query, page)),
      deleteRoute: ({ params }) => changing((admin) => administration.deleteRoute(admin, params.id)),
      audit: (requested) => listing(requested, (admin, page) => audit.list(admin, requested.query, page)),
      system: () => system.get
    })
  })
)
