import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { AdminRoute, AdminSearch, AdminUser, Overview, PendingDeletion, SystemStatus } from "../../schema/Admin.ts"
import { AuditEntry, AuditEvent } from "../../schema/Audit.ts"
import { Conflict, NotFound } from "../../schema/Errors.ts"
import { RouteIdFromPath, UserIdFromPath } from "../../schema/Ids.ts"
import { listQuery } from "../../schema/Page.ts"
import { NewEmail } from "../../schema/User.ts"
import { Tier } from "./Access.ts"
import { AdminAuthentication } from "./Authentication.ts"
import { JsonBody, NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/AdminTexts.ts"

const query = listQuery({ query: Schema.optionalKey(AdminSearch) })

export class AdminApi extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.get("overview", "/overview", { success: Overview }).annotateMerge(texts.overview),
    HttpApiEndpoint.get("users", "/users", { query, success: Schema.Array(AdminUser) })
      .annotateMerge(texts.users),
    HttpApiEndpoint.get("user", "/users/:id", {
      params: { id: UserIdFromPath },
      success: AdminUser,
      error: NotFound
    }).annotateMerge(texts.user),
    HttpApiEndpoint.delete("deleteUser", "/users/:id", {
      params: { id: UserIdFromPath },
      success: Success,
      error: [NotFound, Conflict]
    })
      .annotate(Tier, "strict")
      .annotateMerge(texts.deleteUser),
    HttpApiEndpoint.post("invite", "/invitations", {
      payload: Schema.Struct({ email: NewEmail }).annotate({ identifier: "Invitation" }),
      success: Success.pipe(HttpApiSchema.status("Created")),
      error: Conflict
    })
      .middleware(NoParameters)
      .middleware(JsonBody)
      .annotate(Tier, "strict")
      .annotateMerge(texts.invite),
    HttpApiEndpoint.get("deletions", "/deletions", { query: listQuery({}), success: Schema.Array(PendingDeletion) })
      .annotateMerge(texts.deletions),
    HttpApiEndpoint.get("routes", "/routes", { query, success: Schema.Array(AdminRoute) })
      .annotateMerge(texts.routes),
    HttpApiEndpoint.delete("deleteRoute", "/routes/:id", {
      params: { id: RouteIdFromPath },
      success: Success,
      error: NotFound
    })
      .annotate(Tier, "strict")
      .annotateMerge(texts.deleteRoute),
    HttpApiEndpoint.get("audit", "/audit", {
      query: listQuery({ userId: Schema.optionalKey(UserIdFromPath), event: Schema.optionalKey(AuditEvent) }),
      success: Schema.Array(AuditEntry)
    })
      .annotateMerge(texts.audit),
    HttpApiEndpoint.get("system", "/system", { success: SystemStatus }).annotateMerge(texts.system)
  )
  .middleware(NoParameters)
  .middleware(AdminAuthentication)
  .prefix("/admin")
  .annotateMerge(texts.group)
{}
