import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { NotFound } from "../../schema/Errors.ts"
import { SessionIdFromPath } from "../../schema/Ids.ts"
import { listQuery, ONLY_KNOWN } from "../../schema/Page.ts"
import { Session } from "../../schema/Session.ts"
import { OpenWhilePending, Tier } from "./Access.ts"
import { SessionAuthentication } from "./Authentication.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/SessionsTexts.ts"

export class SessionsApi extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery({}), success: Schema.Array(Session) })
      .annotate(HttpApi.QueryParseOptions, ONLY_KNOWN)
      .annotateMerge(texts.list),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params: { id: SessionIdFromPath },
      success: Success,
      error: NotFound
    }).annotateMerge(texts.revoke),
    HttpApiEndpoint.post("logOutEverywhere", "/logout-everywhere", { success: Success })
      .annotate(Tier, "strict")
      .annotateMerge(texts.logOutEverywhere)
  )
  .annotateEndpoints(OpenWhilePending, true)
  .middleware(SessionAuthentication)
  .prefix("/me/sessions")
  .annotateMerge(texts.group)
{}
