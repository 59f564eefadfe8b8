import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Session } from "../../schema/Credential.ts"
import { NotFound } from "../../schema/Errors.ts"
import { SessionIdFromPath } from "../../schema/Ids.ts"
import { inWords, SESSION_TOKEN_LIFETIME } from "../../schema/Limits.ts"
import { listQuery } from "../../schema/Page.ts"
import { OpenWhilePending, SessionAuthentication, Tier } from "./Access.ts"
import { described, titled } from "./Described.ts"
import { NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"

export class SessionsApi extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery({}), success: Schema.Array(Session) })
      .annotateMerge(described(
        "List own sessions",
        "Where the caller is signed in, the newest sign-in first; `current` is the session of the request. A session "
          + `without a request for ${inWords(SESSION_TOKEN_LIFETIME)} is over and soon not listed.`
      )),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params: { id: SessionIdFromPath },
      success: Success,
      error: NotFound
    }).annotateMerge(described("End a session", "Signs one session out. Ending the current one clears its cookie.")),
    HttpApiEndpoint.post("logOutEverywhere", "/logout-everywhere", { success: Success })
      .annotate(Tier, "strict")
      .annotateMerge(described("End every session", "Signs every session out, this one included."))
  )
  .annotateEndpoints(OpenWhilePending, true)
  .middleware(NoParameters)
  .middleware(SessionAuthentication)
  .prefix("/me/sessions")
  .annotateMerge(titled("Sessions", "Where a user is signed in."))
{}
