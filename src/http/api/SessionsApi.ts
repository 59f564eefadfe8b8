import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { NotFound } from "../../schema/Errors.ts"
import { SessionIdFromPath } from "../../schema/Ids.ts"
import { listQuery } from "../../schema/Page.ts"
import { Session } from "../../schema/Session.ts"
import { OpenWhilePending, Tier } from "./Access.ts"
import { SessionAuthentication } from "./Authentication.ts"
import { NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/SessionsTexts.ts"

export class SessionsApi extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery({}), success: Schema.Array(Session) })
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
  .middleware(NoParameters)
  .middleware(SessionAuthentication)
  .prefix("/me/sessions")
  .annotateMerge(texts.group)
{}
