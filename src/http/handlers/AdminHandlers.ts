import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type Page, pageOf } from "../../schema/Page.ts"
import { Administration } from "../../services/operations/Administration.ts"
import { Audit } from "../../services/operations/Audit.ts"
import { SystemStatus } from "../../services/operations/SystemStatus.ts"
import type { PageOf } from "../../services/routes/Routes.ts"
import { Api } from "../api/Api.ts"
import { CurrentSession } from "../api/Authentication.ts"
import { success } from "../api/Success.ts"
import { pageHeaders } from "../PageHeaders.ts"

const answer = <A>(request: HttpServerRequest.HttpServerRequest, page: Page, { items, total }: PageOf<A>) =>
  HttpServerResponse.jsonUnsafe(items, { headers: pageHeaders(request.url, page, total) })

export const AdminHandlers = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fn(function*(handlers) {
    const administration = yield* Administration
    const audit = yield* Audit
    const system = yield* SystemStatus

    return handlers.handleAll({
      overview: () => administration.overview,
      users: ({ query, request }) =>
        Effect.map(
          Effect.flatMap(CurrentSession, ({ userId }) => administration.users(userId, query.query, pageOf(query))),
          (users) => answer(request, pageOf(query), users)
        ),
      user: ({ params }) => Effect.flatMap(CurrentSession, ({ userId }) => administration.user(userId, params.id)),
      deleteUser: ({ params }) =>
        Effect.flatMap(
          CurrentSession,
          ({ userId }) => Effect.as(administration.deleteUser(userId, params.id), success)
        ),
      deletions: ({ query, request }) =>
        Effect.map(
          Effect.flatMap(CurrentSession, ({ userId }) => administration.deletions(userId, pageOf(query))),
          (all) => answer(request, pageOf(query), all)
        ),
      routes: ({ query, request }) =>
        Effect.map(
          Effect.flatMap(CurrentSession, ({ userId }) => administration.routes(userId, query.query, pageOf(query))),
          (routes) => answer(request, pageOf(query), routes)
        ),
      deleteRoute: ({ params }) =>
        Effect.flatMap(
          CurrentSession,
          ({ userId }) => Effect.as(administration.deleteRoute(userId, params.id), success)
        ),
      audit: ({ query, request }) =>
        Effect.map(
          Effect.flatMap(CurrentSession, ({ userId }) => audit.list(userId, query, pageOf(query))),
          (entries) => answer(request, pageOf(query), entries)
        ),
      system: () => system.get
    })
  })
)
