import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { NotFound } from "../../schema/Errors.ts"
import { SessionIdFromPath } from "../../schema/Ids.ts"
import { listQuery, ONLY_KNOWN } from "../../schema/Page.ts"
import { Session } from "../../schema/Session.ts"
import { OpenWhilePending, Tier } from "./Access.ts"
import { SessionAuthentication } from "./Authentication.ts"
import { Success } from "./Success.ts"

export class SessionsApi extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery({}), success: Schema.Array(Session) }).annotate(
      HttpApi.QueryParseOptions,
      ONLY_KNOWN
    ).annotate(
      OpenApi.Summary,
      "List own sessions"
    ).annotate(
      OpenApi.Description,
      "Where the caller is signed in, the newest sign-in first; `current` is the session that asks."
    ),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params: { id: SessionIdFromPath },
      success: Success,
      error: NotFound
    }).annotate(OpenApi.Summary, "End a session").annotate(
      OpenApi.Description,
      "Signs one session out. Ending the current one clears its cookie."
    ),
    HttpApiEndpoint.post("logOutEverywhere", "/logout-everywhere", { success: Success })
      .annotate(Tier, "strict")
      .annotate(OpenApi.Summary, "End every session").annotate(
        OpenApi.Description,
        "Signs every session out, this one included."
      )
  )
  .annotateEndpoints(OpenWhilePending, true)
  .middleware(SessionAuthentication)
  .prefix("/me/sessions")
  .annotate(OpenApi.Title, "Sessions")
  .annotate(OpenApi.Description, "Where one is signed in.")
{}
