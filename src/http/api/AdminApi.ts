import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import {
  AdminRoute,
  AdminSearch,
  AdminUser,
  AdminUserSort,
  AuditEntry,
  AuditEvent,
  Overview,
  PendingDeletion,
  SystemStatus
} from "../../schema/Admin.ts"
import { Conflict, NotFound } from "../../schema/Errors.ts"
import { RouteIdFromPath, UserIdFromPath } from "../../schema/Ids.ts"
import { AUDIT_RETENTION, GRACE_PERIOD, INVITATION_LIFETIME, inWords } from "../../schema/Limits.ts"
import { named } from "../../schema/Named.ts"
import { listQuery } from "../../schema/Page.ts"
import { NewEmail, USER } from "../../schema/User.ts"
import { AdminAuthentication, Tier } from "./Access.ts"
import { described, titled } from "./Described.ts"
import { JsonBody, NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"

const query = listQuery({ query: Schema.optionalKey(AdminSearch) })

export class AdminApi extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.get("overview", "/overview", { success: Overview }).annotateMerge(
      described("Count everything", "How many accounts, sessions, tokens, routes and collections there are.")
    ),
    HttpApiEndpoint.get("users", "/users", {
      query: listQuery({ query: Schema.optionalKey(AdminSearch), sort: Schema.optionalKey(AdminUserSort) }),
      success: Schema.Array(AdminUser)
    })
      .annotateMerge(described(
        "Find accounts",
        "Accounts, the newest first, or with `sort=-storedBytes` those that store most. `query` is a part of an email address, a name or a handle, case-insensitive. The total "
          + "distance of an account with privacy zones is that of what others see of its routes."
      )),
    HttpApiEndpoint.get("user", "/users/:id", {
      params: { id: UserIdFromPath },
      success: AdminUser,
      error: NotFound
    }).annotateMerge(described("Read an account", "One account. The audit entry names it.")),
    HttpApiEndpoint.delete("deleteUser", "/users/:id", {
      params: { id: UserIdFromPath },
      success: Success,
      error: [NotFound, Conflict]
    })
      .annotate(Tier, "strict")
      .annotateMerge(described(
        "Delete an account",
        `Hides an account at once and erases it after ${inWords(GRACE_PERIOD)} unless its owner signs in and cancels. `
          + "Refused (409) for one's own."
      )),
    HttpApiEndpoint.post("invite", "/invitations", {
      payload: Schema.Struct({ email: NewEmail }).annotate(
        named("Invitation", "The address to invite.", { email: USER.email })
      ),
      success: Success.pipe(HttpApiSchema.status("Created")),
      error: Conflict
    })
      .middleware(NoParameters)
      .middleware(JsonBody)
      .annotate(Tier, "moderate")
      .annotateMerge(described(
        "Invite a person",
        `Mails a link, which expires after ${
          inWords(INVITATION_LIFETIME)
        }, by which its reader chooses a password and gets an account, even `
          + `where sign-up is closed. Refused (409) for an address that has an account. It is mailed `
          + "however many mails the address got."
      )),
    HttpApiEndpoint.get("deletions", "/deletions", { query: listQuery({}), success: Schema.Array(PendingDeletion) })
      .annotateMerge(described(
        "List pending deletions",
        "Accounts that are pending deletion, the next to be erased first."
      )),
    HttpApiEndpoint.get("routes", "/routes", { query, success: Schema.Array(AdminRoute) })
      .annotateMerge(described(
        "Find routes of all users",
        "Routes of every visibility, the newest first, without their lines. `query` is a part of the name, or of the "
          + "owner's email address, name or handle."
      )),
    HttpApiEndpoint.delete("deleteRoute", "/routes/:id", {
      params: { id: RouteIdFromPath },
      success: Success,
      error: NotFound
    })
      .annotate(Tier, "strict")
      .annotateMerge(described(
        "Delete a user's route",
        `Deletes a route and makes it private: its owner can restore it within ${inWords(GRACE_PERIOD)}.`
      )),
    HttpApiEndpoint.get("audit", "/audit", {
      query: listQuery({ userId: Schema.optionalKey(UserIdFromPath), event: Schema.optionalKey(AuditEvent) }),
      success: Schema.Array(AuditEntry)
    })
      .annotateMerge(described(
        "List audit entries",
        `What happened to accounts within ${
          inWords(AUDIT_RETENTION)
        }, the newest first: by or about the user \`userId\`, of the kind \`event\`.`
      )),
    HttpApiEndpoint.get("system", "/system", { success: SystemStatus }).annotateMerge(described(
      "Read the state of the service",
      "The state of the service's parts, their versions, and the URLs of the dashboards."
    ))
  )
  .middleware(NoParameters)
  .middleware(AdminAuthentication)
  .prefix("/admin")
  .annotateMerge(titled(
    "Administration",
    "For sessions of administrators, whose verified email address the operator lists. Each read and change of accounts, "
      + "routes and the audit makes an audit entry."
  ))
{}
