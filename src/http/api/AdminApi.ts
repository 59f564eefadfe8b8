import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdminRoute, AdminSearch, AdminUser, Overview, PendingDeletion, SystemStatus } from "../../schema/Admin.ts"
import { AuditEntry, AuditEvent } from "../../schema/Audit.ts"
import { Conflict, NotFound } from "../../schema/Errors.ts"
import { RouteIdFromPath, UserIdFromPath } from "../../schema/Ids.ts"
import { AUDIT_RETENTION, GRACE_PERIOD, INVITATION_LIFETIME, inWords, MAIL_LIMIT } from "../../schema/Limits.ts"
import { listQuery, ONLY_KNOWN } from "../../schema/Page.ts"
import { Email } from "../../schema/User.ts"
import { Tier } from "./Access.ts"
import { AdminAuthentication } from "./Authentication.ts"
import { JsonBody } from "./Requests.ts"
import { Success } from "./Success.ts"

const query = listQuery({ query: Schema.optionalKey(AdminSearch) })

export class AdminApi extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.get("overview", "/overview", { success: Overview }).annotate(OpenApi.Summary, "Count everything")
      .annotate(
        OpenApi.Description,
        "How many accounts, sessions, tokens, routes and collections there are."
      ),
    HttpApiEndpoint.get("users", "/users", { query, success: Schema.Array(AdminUser) }).annotate(
      HttpApi.QueryParseOptions,
      ONLY_KNOWN
    ).annotate(
      OpenApi.Summary,
      "Find accounts"
    ).annotate(
      OpenApi.Description,
      "Accounts, the newest first. `query` is a part of an email address, a name or a handle, in whatever case."
    ),
    HttpApiEndpoint.get("user", "/users/:id", {
      params: { id: UserIdFromPath },
      success: AdminUser,
      error: NotFound
    }).annotate(OpenApi.Summary, "Look at an account").annotate(
      OpenApi.Description,
      "One account. The entry that is left in the audit names it."
    ),
    HttpApiEndpoint.delete("deleteUser", "/users/:id", {
      params: { id: UserIdFromPath },
      success: Success,
      error: [NotFound, Conflict]
    })
      .annotate(Tier, "strict")
      .annotate(OpenApi.Summary, "Begin the deletion of an account").annotate(
        OpenApi.Description,
        `Begins the ${
          inWords(GRACE_PERIOD)
        } of an account, as its owner could: hidden at once, erased at their end unless its owner signs `
          + "in and cancels. Refused (409) for one's own."
      ),
    HttpApiEndpoint.post("invite", "/invitations", {
      payload: Schema.Struct({ email: Email }).annotate({ identifier: "Invitation" }),
      success: Success.pipe(HttpApiSchema.status("Created")),
      error: Conflict
    })
      .middleware(JsonBody)
      .annotate(Tier, "strict")
      .annotate(OpenApi.Summary, "Invite somebody").annotate(
        OpenApi.Description,
        `Mails a link, which expires after ${
          inWords(INVITATION_LIFETIME)
        }, by which its reader chooses a password and has an account, also where `
          + `sign-up is closed. Refused (409) for an address that has an account. One address gets ${MAIL_LIMIT} at most.`
      ),
    HttpApiEndpoint.get("deletions", "/deletions", { query: listQuery({}), success: Schema.Array(PendingDeletion) })
      .annotate(HttpApi.QueryParseOptions, ONLY_KNOWN)
      .annotate(OpenApi.Summary, "List pending deletions").annotate(
        OpenApi.Description,
        "Accounts whose deletion was asked for, the one to be erased next first."
      ),
    HttpApiEndpoint.get("routes", "/routes", { query, success: Schema.Array(AdminRoute) }).annotate(
      HttpApi.QueryParseOptions,
      ONLY_KNOWN
    ).annotate(
      OpenApi.Summary,
      "Find routes of anybody"
    ).annotate(
      OpenApi.Description,
      "Routes of every visibility, the newest first, without their lines. `query` is a part of the name, or of the "
        + "owner's email address, name or handle."
    ),
    HttpApiEndpoint.delete("deleteRoute", "/routes/:id", {
      params: { id: RouteIdFromPath },
      success: Success,
      error: NotFound
    })
      .annotate(Tier, "strict")
      .annotate(OpenApi.Summary, "Delete anybody's route").annotate(
        OpenApi.Description,
        `Deletes anybody's route, and makes it private: its owner can restore it within ${
          inWords(GRACE_PERIOD)
        }, for themselves.`
      ),
    HttpApiEndpoint.get("audit", "/audit", {
      query: listQuery({ userId: Schema.optionalKey(UserIdFromPath), event: Schema.optionalKey(AuditEvent) }),
      success: Schema.Array(AuditEntry)
    }).annotate(HttpApi.QueryParseOptions, ONLY_KNOWN).annotate(OpenApi.Summary, "List audit entries").annotate(
      OpenApi.Description,
      `What happened to accounts within ${
        inWords(AUDIT_RETENTION)
      }, the newest first: by or about the user \`userId\`, of the kind \`event\`.`
    ),
    HttpApiEndpoint.get("system", "/system", { success: SystemStatus }).annotate(
      OpenApi.Summary,
      "See how the service is"
    ).annotate(
      OpenApi.Description,
      "How the service's parts are, their versions, and where the dashboards are."
    )
  )
  .middleware(AdminAuthentication)
  .prefix("/admin")
  .annotate(OpenApi.Title, "Administration")
  .annotate(
    OpenApi.Description,
    "For administrators: whose proven email address is listed by the operator, in a session. What they see or do of "
      + "accounts, routes and the audit leaves an audit entry."
  )
{}
